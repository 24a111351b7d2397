/** Owns a partition of the queue: carries out what `key-order.ts` decides, with the steps of `steps.ts`. */

import assert from "node:assert/strict";
import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";
import { type Fact, UNKNOWN } from "../../../src/router/order/facts.ts";
import {
  type Action,
  begun,
  ended,
  hasFact,
  isBlocked,
  type KeyState,
  type Result,
  read,
  restored,
  settled,
  written,
} from "../../../src/router/order/key-order.ts";
import type { CopyOwner } from "./copy-owner.ts";
import type { Place } from "./endpoint.ts";
import type { Host } from "./host.ts";
import {
  copyOf,
  copyRecord,
  DELAYS_MS,
  deadLetterRecord,
  delayTopic,
  factRecord,
  KEEP_SETTLED_MS,
  QUEUE,
} from "./setup.ts";

interface Ready {
  readonly key: string;
  readonly action: Action;
}

type Decide = (state: KeyState) => readonly Action[];

export class QueueOwner implements PartitionHandler {
  readonly #process: Host;
  readonly #partition: AssignedPartition;
  readonly #copies: CopyOwner;
  readonly #name: string;
  readonly #states = new Map<string, KeyState>();
  /** Unprocessed records. */
  readonly #records = new Map<number, IncomingRecord>();
  /** Records that were read back, which may be read again from the queue meanwhile. */
  readonly #readAgain = new Map<number, IncomingRecord>();
  #ready: Ready[] = [];
  /** The offset after the last record that was taken. */
  #next = 0;
  readonly #unprocessed = new Set<number>();
  /** Facts that this owner did not know, of deliveries that are not processed. */
  #unsure: Fact[] = [];
  /** Records that arrived before the facts were read; null afterwards. */
  #early: IncomingRecord[] | null = [];
  #isDraining = false;
  #active = 0;
  #onIdle: (() => void) | null = null;

  constructor(process: Host, partition: AssignedPartition, copies: CopyOwner) {
    this.#process = process;
    this.#partition = partition;
    this.#copies = copies;
    this.#name = `queue-${process.deps.id}-${process.tenure()}`;
    void process.readFacts().then(() => this.#open());
  }

  take(records: readonly IncomingRecord[]): void {
    if (this.#early !== null) {
      this.#early.push(...records);
      return;
    }
    for (const record of records) this.#read(record);
    this.#next = Math.max(this.#next, (records.at(-1)?.offset ?? -1) + 1);
    this.#removeLate();
  }

  drain(): Promise<void> {
    this.#isDraining = true;
    this.#ready = [];
    const own = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#idle();
    });
    return Promise.all([own, this.#copies.drain(this.#partition)]).then(() => undefined);
  }

  known(partition: number, { kind, key, offset }: Fact): void {
    if (partition !== this.#partition.partition || this.#early !== null || this.#isDraining) return;
    if (kind === "settled") {
      this.#decide(key, (state) => settled(state, offset));
      this.#cleanLater(key, offset);
      return;
    }
    this.#unsure.push({ kind, key, offset });
    this.#removeLate();
  }

  /** Removes facts that are not true any more. */
  #removeLate(): void {
    const unsure = this.#unsure;
    this.#unsure = [];
    for (const fact of unsure) {
      const { kind, key, offset } = fact;
      const state = this.#states.get(key);
      if (state !== undefined && hasFact(state, offset)) continue;
      if (offset >= this.#next || this.#unprocessed.has(offset)) this.#unsure.push(fact);
      else this.#do(() => this.#write(factRecord(kind, this.#place(key, offset), false)));
    }
  }

  /** Starts what may start. */
  pump(): void {
    const ready = this.#ready;
    this.#ready = [];
    for (const each of ready) {
      if (this.#isDraining) return;
      if (this.#mayStart(each)) this.#start(each);
      else this.#ready.push(each);
    }
  }

  #open(): void {
    const early = this.#early ?? [];
    this.#early = null;
    if (this.#isDraining) return;
    const facts = this.#process.facts[this.#partition.partition];
    const isKnown = this.#process.deps.settings.design.broken !== "no-fact-is-settled";
    for (const key of facts?.keys() ?? []) {
      const known = facts?.known(key) ?? UNKNOWN;
      this.#states.set(key, restored(isKnown ? known : { ...known, last: -1 }));
      if (known.settledTo >= 0) this.#cleanLater(key, known.settledTo);
    }
    for (const key of [...this.#states.keys()]) this.#decide(key, begun);
    this.take(early);
  }

  #read(record: IncomingRecord): void {
    if (this.#isDraining) return;
    if (copyOf(record) !== null) {
      this.#copies.accept(record, this.#partition);
      return;
    }
    this.#records.set(record.offset, record);
    this.#unprocessed.add(record.offset);
    const key = `${record.key}`;
    this.#decide(key, (state) => read(state, record.offset));
  }

  #decide(key: string, decide: Decide): void {
    const state = this.#states.get(key) ?? restored(UNKNOWN);
    const actions = decide(state);
    this.#states.set(key, state);
    for (const action of actions) {
      if (action.kind === "attempt") this.#ready.push({ key, action });
      else this.#act(key, action);
    }
    this.pump();
  }

  #mayStart({ key, action }: Ready): boolean {
    const { settings } = this.#process.deps;
    const { controls, design, blockedMax } = settings;
    if (this.#isCancelled(action)) return true;
    if (controls.isPaused || controls.isOnHold) return false;
    const state = this.#states.get(key);
    const isOfBlocked = action.isAside || (state !== undefined && isBlocked(state));
    if (isOfBlocked && design.broken !== "blocked-keys-continue") return true;
    let blocked = 0;
    for (const each of this.#states.values()) if (isBlocked(each)) blocked += 1;
    return blocked < blockedMax;
  }

  #isCancelled({ offset }: Action): boolean {
    const record = this.#record(offset);
    const { cancelledMs } = this.#process.deps.settings.controls;
    return record !== undefined && record.timestampMs < cancelledMs;
  }

  #start({ key, action }: Ready): void {
    const { offset, isAside } = action;
    this.#do(async () => {
      if (isAside) await this.#readBack(offset);
      const { settings, endpoint } = this.#process.deps;
      const decidedMs = this.#process.deps.clock.nowMs();
      const isOurs = await this.#process.see(this.#partition.isOurs());
      if (!isOurs && settings.design.broken !== "ours-before-attempt") return;
      if (this.#isCancelled(action)) {
        this.#decide(key, (state) => ended(state, "rejected"));
        return;
      }
      const response = await this.#process.see(
        endpoint.request(this.#place(key, offset), this.#name, decidedMs),
      );
      const isHeld = response === "rejected" && settings.onDeadLetter === "hold";
      const result: Result = isHeld ? "held" : response;
      this.#decide(key, (state) => ended(state, result));
    });
  }

  #record(offset: number): IncomingRecord | undefined {
    return this.#records.get(offset) ?? this.#readAgain.get(offset);
  }

  async #readBack(offset: number): Promise<void> {
    const { partition } = this.#partition;
    const { signal } = new AbortController();
    const range = {
      topic: QUEUE,
      partition,
      from: offset,
      to: offset + 1,
      maxBytes: 1_000_000,
      signal,
    };
    for await (const records of this.#process.deps.kafka.read(range))
      for (const record of records) this.#readAgain.set(record.offset, record);
    await this.#process.see(Promise.resolve());
    assert(this.#readAgain.has(offset), "a delivery that waits is in the queue");
  }

  #place(key: string, offset: number): Place {
    return { partition: this.#partition.partition, offset, key };
  }

  /** Carries out an action, step by step (`steps.ts`). */
  #act(key: string, { kind, offset, isAside }: Action): void {
    const { broken } = this.#process.deps.settings.design;
    const place = this.#place(key, offset);
    const finish = () => this.#finish(offset);
    if (kind === "finish") finish();
    if (kind === "forget") this.#do(() => this.#write(factRecord("wait", place, false)));
    if (kind === "aside") {
      if (broken === "fact-before-finish") finish();
      this.#do(() => this.#write(factRecord("wait", place)).then(finish));
    }
    if (kind !== "divert" && kind !== "bury" && kind !== "hold") return;
    const steps = this.#recordsOf(kind, place);
    const forget = isAside ? [factRecord("wait", place, false)] : [];
    this.#do(async () => {
      if (broken === "forget-last") for (const each of forget) await this.#write(each);
      if (broken === "fact-before-finish") finish();
      if (broken === "retry-before-wait") this.#decide(key, written);
      for (const each of steps) await this.#write(each);
      if (!isAside) finish();
      if (broken !== "retry-before-wait") this.#decide(key, written);
      if (broken === "wait-behind") this.#decide(key, (state) => settled(state, offset));
      for (const each of forget) await this.#write(each);
    });
  }

  #recordsOf(kind: "divert" | "bury" | "hold", place: Place): readonly OutgoingRecord[] {
    const { broken } = this.#process.deps.settings.design;
    const receivedMs = this.#record(place.offset)?.timestampMs ?? 0;
    const firstMs = this.#process.deps.clock.nowMs();
    const copy = { place, attempts: 1, firstMs, receivedMs };
    const { cancelledMs } = this.#process.deps.settings.controls;
    const reason = kind === "bury" && receivedMs < cancelledMs ? "cancelled" : "rejected";
    const first =
      kind === "divert"
        ? copyRecord(delayTopic(DELAYS_MS[0]), copy)
        : deadLetterRecord(place, reason);
    const fact = factRecord(kind === "bury" ? "settled" : "retry", place);
    if (kind === "bury" && broken === "buried-settle") return [first];
    return broken === "copy-before-fact" ? [fact, first] : [first, fact];
  }

  #write(record: OutgoingRecord): Promise<void> {
    return this.#process.write(record);
  }

  #finish(offset: number): void {
    this.#records.delete(offset);
    this.#unprocessed.delete(offset);
    this.#partition.finish(offset);
  }

  /** Facts about settled deliveries are removed when nothing can refer to them any more: `settled` last. */
  #cleanLater(key: string, offset: number): void {
    const { broken } = this.#process.deps.settings.design;
    this.#process.after(broken === "keep-settled" ? 0 : KEEP_SETTLED_MS, () => {
      const facts = this.#process.facts[this.#partition.partition]?.of(key);
      if (this.#isDraining || facts === undefined) return;
      const old = (kind: "wait" | "retry" | "settled") =>
        [...facts[kind].keys()]
          .filter((each) => each <= offset)
          .map((each) => factRecord(kind, this.#place(key, each), false));
      const records = [...old("wait"), ...old("retry"), ...old("settled")];
      if (records.length > 0) this.#do(() => this.#process.write(...records));
    });
  }

  #do(work: () => Promise<void>): void {
    this.#active += 1;
    void work().then(() => {
      this.#active -= 1;
      this.#idle();
    });
  }

  #idle(): void {
    if (this.#active === 0) this.#onIdle?.();
  }
}
