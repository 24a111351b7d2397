/**
 * Keeps the operator actions that this process has read from the topic `operator-actions`.
 *
 *   a record                                     then
 *   pauses a destination                         it is paused until it is resumed or the pause ends
 *   pauses it again                              the later record applies
 *   is an early release                          it applies in addition to others, until it is removed
 *   is the progress of an early release          the furthest progress applies, because slow processes report less
 *   is progress in a topic with another ID       it replaces the progress in the previous topic
 *   says that an endpoint is gone                it gets no requests until the record is removed
 *   is a process's description                   the process is known until its record is removed
 *   is invalid                                   nothing changes
 *   exceeds the limit of its kind                nothing changes, and the record is rejected
 *
 * An early release is kept for as long as a delay topic can contain records to which it applies. A process that reads
 * such a record must be able to find out whether the record has already been released.
 */

import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import { isReleasedBy, type Releasable } from "./early-release.ts";
import {
  type EarlyRelease,
  type EndpointNews,
  type GoneEndpoint,
  goneKey,
  type OperatorAction,
  type Pause,
  PROCESS_KNOWN_MS,
  type ProcessRecord,
  processKey,
} from "./operator-actions.ts";

/**
 * Maximum number of actions of each kind, because anybody with write permission could fill the topic. A kind that is
 * full leaves the room of the others unchanged. A single retry writes its progress once per partition.
 */
export const OPERATIONS_MAX = {
  pauses: 20_000,
  "endpoints that are gone": 20_000,
  "retries and cancellations": 20_000,
  "records of their progress": 200_000,
  processes: 20_000,
} as const;
type Kind = keyof typeof OPERATIONS_MAX;
/** The longest time that a record can remain in its delay topic after an early release has taken it. */
const EARLY_RELEASE_KEPT_MS = 7 * 86_400_000;

/** After this time, the record of a process that crashed is removed. */
const PROCESS_KEPT_MS = 3_600_000;

/**
 * How long the record of an endpoint that is gone is kept although its URL is not configured. Another process may still
 * have a configuration with this URL. It then sends one request to the endpoint, and the response of 410 results in a
 * new record, so this cannot happen more often than at this interval.
 */
const GONE_KEPT_MS = 30 * 86_400_000;

const NONE: readonly EarlyRelease[] = [];
const NOTHING_GONE: ReadonlyMap<EndpointKey, number> = new Map();

type IsConfigured = (destination: DestinationId, endpoint: EndpointKey) => boolean;

/** The view of the operator actions that the stages use. */
export interface OperatorActions {
  /** The current pause, or null. Does not include `paused` in the configuration. */
  readonly pauseOf: (destination: DestinationId) => Pause | null;
  /** The early releases in the order in which they were requested. */
  readonly earlyReleasesOf: (destination: DestinationId) => readonly EarlyRelease[];
  readonly earlyReleases: () => readonly EarlyRelease[];
  /** The endpoints that responded 410, by the hash of the URL, with the time of the response. */
  readonly goneOf: (destination: DestinationId) => ReadonlyMap<EndpointKey, number>;
  /** Keys of old records about endpoints that are gone and not configured any more. */
  readonly overGone: (nowMs: number, isConfigured: IsConfigured) => readonly string[];
  /**
   * Returns an offset below which no record to which the early release applies is left in the partition. Returns 0 if
   * the progress is for a topic with another ID. If one of the two IDs is unknown, they count as equal.
   */
  readonly releasedThrough: (
    id: string,
    delay: string,
    partition: number,
    topicId?: string,
  ) => number;
  /**
   * Calls the listener with a destination when its operator actions change. Returns a function that removes the
   * listener.
   */
  readonly onChange: (listener: (destination: DestinationId) => void) => () => void;
  /**
   * Calls the listener with news about endpoints from any process, including this one. Returns a function
   * that removes the listener.
   */
  readonly onNews: (listener: (news: EndpointNews) => void) => () => void;
}

/** The operator actions that concern a destination, apart from pauses. */
export interface Controls {
  /** Those of the kind `retry` are ignored. */
  readonly earlyReleases: readonly EarlyRelease[];
  readonly gone: ReadonlyMap<EndpointKey, number>;
}

export const NO_CONTROLS: Controls = { earlyReleases: NONE, gone: NOTHING_GONE };

/** The state of processes that do not read the topic: there are no operator actions. */
export const NO_OPERATOR_ACTIONS: OperatorActions = {
  pauseOf: () => null,
  earlyReleasesOf: () => NONE,
  earlyReleases: () => NONE,
  goneOf: () => NOTHING_GONE,
  overGone: () => [],
  releasedThrough: () => 0,
  onChange: () => () => undefined,
  onNews: () => () => undefined,
};

interface Through {
  readonly topicId: string;
  readonly offset: number;
}

export class KnownOperatorActions {
  readonly #pauses = new Map<DestinationId, Pause>();
  readonly #earlyReleases = new Map<DestinationId, EarlyRelease[]>();
  /** By the key of the record. */
  readonly #gone = new Map<string, GoneEndpoint>();
  /** The progress, indexed by early release, and then by retry delay and partition. */
  readonly #released = new Map<string, Map<string, Through>>();
  readonly #processes = new Map<
    string,
    { readonly process: ProcessRecord; readonly atMs: number }
  >();
  readonly #counts = new Map<Kind, number>();

  /**
   * Returns false if the action is ignored because there are too many actions.
   *
   * @param atMs timestamp of the record.
   */
  apply(operation: OperatorAction, atMs = 0): boolean {
    switch (operation.kind) {
      case "process": {
        const { process } = operation;
        if (!this.#processes.has(process.id) && !this.#hasRoom("processes")) return false;
        this.#processes.set(process.id, { process, atMs });
        return true;
      }
      case "forget-process":
        if (this.#processes.delete(operation.id)) this.#left("processes");
        return true;
      case "pause": {
        const { pause } = operation;
        if (!this.#pauses.has(pause.destination) && !this.#hasRoom("pauses")) return false;
        this.#pauses.set(pause.destination, pause);
        return true;
      }
      case "resume":
        if (this.#pauses.delete(operation.destination)) this.#left("pauses");
        return true;
      case "gone": {
        const key = goneKey(operation.gone.destination, operation.gone.endpoint);
        if (!this.#gone.has(key) && !this.#hasRoom("endpoints that are gone")) return false;
        this.#gone.set(key, operation.gone);
        return true;
      }
      case "forget-gone":
        if (this.#gone.delete(goneKey(operation.destination, operation.endpoint)))
          this.#left("endpoints that are gone");
        return true;
      case "release":
        return this.#addEarlyRelease(operation.earlyRelease);
      case "released": {
        const { id, delay, partition, through, topicId } = operation.released;
        const parts = this.#released.get(id) ?? new Map<string, Through>();
        const place = `${delay}/${partition}`;
        if (!parts.has(place) && !this.#hasRoom("records of their progress")) return false;
        const before = parts.get(place);
        const known = before?.topicId === topicId ? before.offset : 0;
        this.#released.set(id, parts.set(place, { topicId, offset: Math.max(through, known) }));
        return true;
      }
      case "forget-release":
        this.#forgetEarlyRelease(operation.destination, operation.id);
        return true;
      case "endpoint":
        return true;
      case "forget-released":
        this.#left("records of their progress", this.#released.get(operation.id)?.size ?? 0);
        this.#released.delete(operation.id);
        return true;
    }
  }

  /** The kinds of which later actions are ignored, because there are too many. */
  fullKinds(): readonly Kind[] {
    return [...this.#counts.keys()].filter((kind) => this.#isFull(kind));
  }

  /** All pauses, including those that have ended. */
  pauses(): readonly Pause[] {
    return [...this.#pauses.values()];
  }

  pauseOf(destination: DestinationId, nowMs: number): Pause | null {
    const pause = this.#pauses.get(destination);
    return pause === undefined || isOver(pause, nowMs) ? null : pause;
  }

  /** The pauses in force that end automatically. */
  ending(nowMs: number): readonly (Pause & { readonly untilMs: number })[] {
    return this.pauses().flatMap((pause) => {
      const { untilMs } = pause;
      return untilMs === null || isOver(pause, nowMs) ? [] : [{ ...pause, untilMs }];
    });
  }

  earlyReleases(): readonly EarlyRelease[] {
    return [...this.#earlyReleases.values()].flat();
  }

  earlyReleasesOf(destination: DestinationId): readonly EarlyRelease[] {
    return this.#earlyReleases.get(destination) ?? NONE;
  }

  goneOf(destination: DestinationId): ReadonlyMap<EndpointKey, number> {
    if (this.#gone.size === 0) return NOTHING_GONE;
    const gone = [...this.#gone.values()].filter((each) => each.destination === destination);
    return new Map(gone.map(({ endpoint, atMs }) => [endpoint, atMs]));
  }

  overGone(nowMs: number, isConfigured: IsConfigured): readonly string[] {
    return [...this.#gone].flatMap(([key, { destination, endpoint, atMs }]) => {
      const isKept = nowMs - atMs <= GONE_KEPT_MS || isConfigured(destination, endpoint);
      return isKept ? [] : key;
    });
  }

  /** The destinations with a pause, an early release or an endpoint that is gone. */
  destinations(): ReadonlySet<DestinationId> {
    const gone = [...this.#gone.values()].map(({ destination }) => destination);
    return new Set([...this.#pauses.keys(), ...this.#earlyReleases.keys(), ...gone]);
  }

  /** The processes that count as running. */
  processes(nowMs: number): readonly ProcessRecord[] {
    return [...this.#processes.values()].flatMap(({ process, atMs }) =>
      Math.abs(nowMs - atMs) > PROCESS_KNOWN_MS ? [] : [process],
    );
  }

  /** Keys of the records that no longer have an effect. */
  overKeys(nowMs: number): readonly string[] {
    const pauses = this.pauses().filter((pause) => isOver(pause, nowMs));
    const earlyReleases = this.earlyReleases().filter(
      ({ atMs }) => nowMs - atMs > EARLY_RELEASE_KEPT_MS,
    );
    return [
      ...pauses.map(({ destination }) => `pause/${destination}`),
      ...earlyReleases.flatMap(({ destination, id }) => [
        `release/${destination}/${id}`,
        ...[...(this.#released.get(id)?.keys() ?? [])].map((place) => `released/${id}/${place}`),
      ]),
      ...this.overProcesses(nowMs),
    ];
  }

  overProcesses(nowMs: number): readonly string[] {
    return [...this.#processes.values()].flatMap(({ process, atMs }) =>
      nowMs - atMs > PROCESS_KEPT_MS ? [processKey(process.id)] : [],
    );
  }

  releasedThrough(id: string, delay: string, partition: number, topicId = ""): number {
    const known = this.#released.get(id)?.get(`${delay}/${partition}`);
    if (known === undefined) return 0;
    const isOther = known.topicId !== "" && topicId !== "" && known.topicId !== topicId;
    return isOther ? 0 : known.offset;
  }

  #addEarlyRelease(earlyRelease: EarlyRelease): boolean {
    const all = this.#earlyReleases.get(earlyRelease.destination) ?? [];
    const others = all.filter(({ id }) => id !== earlyRelease.id);
    if (others.length === all.length && !this.#hasRoom("retries and cancellations")) return false;
    this.#earlyReleases.set(earlyRelease.destination, [...others, earlyRelease]);
    return true;
  }

  #forgetEarlyRelease(destination: DestinationId, id: string): void {
    const all = this.#earlyReleases.get(destination) ?? [];
    const others = all.filter((earlyRelease) => earlyRelease.id !== id);
    this.#left("retries and cancellations", all.length - others.length);
    if (others.length === 0) this.#earlyReleases.delete(destination);
    else this.#earlyReleases.set(destination, others);
  }

  #hasRoom(kind: Kind): boolean {
    if (this.#isFull(kind)) return false;
    this.#left(kind, -1);
    return true;
  }

  #isFull(kind: Kind): boolean {
    return (this.#counts.get(kind) ?? 0) >= OPERATIONS_MAX[kind];
  }

  #left(kind: Kind, count = 1): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) - count);
  }
}

export interface DelayTopicPlace {
  readonly delay: string;
  readonly partition: number;
  readonly offset: number;
  /** Empty if the brokers do not support topic IDs. */
  readonly topicId: string;
}

/** Returns true if a record in a delay topic has been released early, and must therefore be skipped when it is due. */
export function hasLeft(
  operatorActions: Pick<OperatorActions, "earlyReleasesOf" | "releasedThrough">,
  { delay, partition, offset, topicId }: DelayTopicPlace,
  record: Releasable,
): boolean {
  return operatorActions
    .earlyReleasesOf(record.destination)
    .some(
      (earlyRelease) =>
        offset < operatorActions.releasedThrough(earlyRelease.id, delay, partition, topicId) &&
        isReleasedBy(earlyRelease, record),
    );
}

export function isOver({ untilMs }: Pause, nowMs: number): boolean {
  return untilMs !== null && untilMs <= nowMs;
}
