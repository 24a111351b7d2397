/** The dispatcher of one destination with scripted endpoints. The test controls time and timers. */

import { type Delivery, deliveryHeaders, readDelivery } from "../../../src/domain/delivery.ts";
import type { MessageId } from "../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import type { Attempted } from "../../../src/router/deliver/attempt.ts";
import { Dispatcher, type DispatchPorts } from "../../../src/router/deliver/dispatcher.ts";
import type { Replacement } from "../../../src/router/deliver/follow-up-record.ts";
import type { OwnedPartition } from "../../../src/router/deliver/in-flight.ts";
import type { RequestResult } from "../../../src/router/destinations/port.ts";
import type { WebhookDestination } from "../../../src/router/destinations/webhook/settings.ts";
import { webhookTransport } from "../../../src/router/destinations/webhook/transport.ts";
import type { KnownSuppressions } from "../../../src/router/suppression/known-suppressions.ts";
import { deliveryOf } from "../build/webhook-destination.ts";

export const START_MS = 1_800_000_000_000;

export const UNOBSERVED: DispatchPorts["observer"] = {
  owned: () => undefined,
  took: () => undefined,
  left: () => undefined,
  started: () => null,
  phases: () => undefined,
  requested: () => undefined,
  attempted: () => undefined,
  suppressed: () => undefined,
  circuitChanged: () => undefined,
  tell: () => undefined,
  gone: () => undefined,
  proxyChanged: () => undefined,
  putBack: () => undefined,
};

interface Given {
  readonly key?: string;
  readonly partition?: number;
  readonly value?: string;
  readonly delivery?: Partial<Delivery>;
}

/** Returns a call whose event is its offset. */
export function recordAt(offset: number, given: Given = {}): IncomingRecord {
  const { key, partition = 0, value, delivery } = given;
  const messageId = `${partition}/${offset}` as MessageId;
  return {
    topic: "sw.deliveries.crm",
    partition,
    offset,
    key: key === undefined ? null : Buffer.from(key),
    value: Buffer.from(value ?? `{"type":"track","event":"${offset}","userId":"u"}`),
    headers: deliveryHeaders(deliveryOf({ messageId, ...delivery })),
    timestampMs: START_MS,
  };
}

interface Event {
  readonly event?: string;
  readonly type: string;
}

interface Sent {
  readonly url: string;
  /** Events or types of the calls. */
  readonly calls: readonly string[];
  readonly atMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly done: (result: RequestResult) => void;
}

export class DispatchWorld {
  nowMs = START_MS;
  readonly timers: { readonly atMs: number; readonly then: () => void }[] = [];
  /** Requests in flight. */
  readonly open: Sent[] = [];
  readonly sent: Sent[] = [];
  readonly written: Replacement[] = [];
  readonly attempted: Attempted[] = [];
  /** The decisions of traced attempts. */
  readonly traced: string[] = [];
  readonly results: RequestResult[] = [];
  readonly finished: string[] = [];
  unreadable = 0;
  destination: WebhookDestination;
  readonly sender;
  readonly work;
  readonly handlers = new Map<string, OwnedPartition>();

  readonly #confirm: (() => Promise<boolean>) | undefined;

  /** The number of deliveries that were processed without an attempt. */
  suppressed = 0;

  /** @param confirm confirms who owns the partitions, before requests. */
  constructor(
    destination: WebhookDestination,
    partitions = 1,
    suppressions?: KnownSuppressions,
    confirm?: () => Promise<boolean>,
  ) {
    this.destination = destination;
    this.#confirm = confirm;
    this.sender = webhookTransport({
      update: () => false,
      open: () => ({
        send: ({ url }, { body, headers }, done) => this.#send(url, body, headers, done),
        update: () => undefined,
        close: () => Promise.resolve(),
      }),
    }).open(this.destination);
    const policy = { retryDelaysMs: [10_000], retryWindowMs: 14_400_000 };
    this.work = new Dispatcher(
      destination,
      { policy, topics: topicNames("sw."), partitions },
      {
        timer: {
          nowMs: () => this.nowMs,
          after: (ms, then) => this.timers.push({ atMs: this.nowMs + ms, then }),
        },
        sender: this.sender,
        observer: {
          ...UNOBSERVED,
          requested: (result, isUnreadable) => {
            this.results.push(result);
            if (isUnreadable) this.unreadable += 1;
          },
          attempted: (attempted) => this.attempted.push(attempted),
          started: () => ({
            send: (endpoint, prepared, done) => this.sender.send(endpoint, prepared, done),
            follow: (record) => record,
            end: (decision) => this.traced.push(decision),
          }),
          suppressed: () => {
            this.suppressed += 1;
          },
        },
        writer: {
          write: (replacements, ended) => {
            this.written.push(...replacements);
            ended(replacements.map(({ kind }) => (kind === "retry" ? "retry" : "dead:any")));
          },
        },
        suppressions,
      },
    );
  }

  #send(
    url: string,
    body: Buffer,
    headers: readonly (readonly [string, string])[],
    done: (result: RequestResult) => void,
  ) {
    const parsed = JSON.parse(body.toString()) as Event | readonly Event[];
    const calls = [parsed].flat().map(({ event, type }) => event ?? type);
    const sent = { url, calls, atMs: this.nowMs, headers: Object.fromEntries(headers), done };
    this.sent.push(sent);
    this.open.push(sent);
  }

  #partition(turn: "queue" | "retry", partition: number) {
    const name = `${turn}/${partition}`;
    const known = this.handlers.get(name);
    if (known !== undefined) return known;
    const finish = (offset: number) => this.finished.push(`${partition}/${offset}`);
    const confirm = this.#confirm;
    const made = this.work.own({ finish, ...(confirm === undefined ? {} : { confirm }) }, turn);
    this.handlers.set(name, made);
    return made;
  }

  queue(records: readonly IncomingRecord[]): this {
    for (const record of records) this.#partition("queue", record.partition).take([record]);
    return this;
  }

  /** Passes on records as one fetch of a partition. */
  fetched(records: readonly IncomingRecord[], turn: "queue" | "retry" = "queue"): this {
    this.#partition(turn, records[0]?.partition ?? 0).take(records);
    return this;
  }

  /** Ends the oldest request in flight. */
  respond(result: RequestResult): this {
    const [next] = this.open.splice(0, 1);
    if (next === undefined) throw new Error("no request is in flight");
    next.done(result);
    return this;
  }

  advance(ms: number): this {
    const untilMs = this.nowMs + ms;
    for (;;) {
      this.timers.sort((one, other) => one.atMs - other.atMs);
      const [next] = this.timers;
      if (next === undefined || next.atMs > untilMs) break;
      this.timers.shift();
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.then();
    }
    this.nowMs = untilMs;
    return this;
  }

  update(given: Partial<WebhookDestination>): void {
    this.destination = { ...this.destination, ...given };
    this.sender.update(this.destination);
    this.work.update(this.destination);
  }

  get calls(): readonly (readonly string[])[] {
    return this.sent.map(({ calls }) => calls);
  }

  /** Returns the message IDs of the written deliveries, with their current state. */
  get finalStates(): Readonly<Record<string, string>> {
    const named = this.written.map(({ kind, outgoing }) => {
      const read = readDelivery({ ...outgoing, headers: outgoing.headers ?? [] });
      return [read.kind === "delivery" ? read.delivery.messageId : "?", kind] as const;
    });
    return Object.fromEntries(named);
  }
}
