/**
 * All that the topic `operator-actions` says, as a process knows it now.
 *
 *   a record                                  then
 *   pauses a destination                      it is paused until it is resumed, or the time is over
 *   the same again                            the later one counts
 *   is a pull                                 it counts beside others, until it is forgotten
 *   says how far a pull is                    the furthest counts: a process that is late may say less
 *   says so of a topic of another id          it counts, and what was said of the one before does not
 *   is of a process                           the process is known, until it is forgotten
 *   is refused                                nothing changes
 *   is one too many                           nothing changes, and it is refused
 *
 * A pull is known for so long that none of its records can be left in a tier: who takes one needs to
 * know whether it has been pulled.
 */

import type { DestinationId } from "../domain/ids.ts";
import { isReleasedBy, type Releasable } from "./early-release.ts";
import {
  type EarlyRelease,
  type EndpointNews,
  type OperatorAction,
  type Pause,
  PROCESS_KNOWN_MS,
  type ProcessRecord,
  processKey,
} from "./operator-actions.ts";

/** Anybody who may write to the topic could fill it. */
export const OPERATIONS_MAX = 20_000;
/** Longest that a delivery lies on a topic from which a pull takes it. */
const EARLY_RELEASE_KEPT_MS = 7 * 86_400_000;

/** A record that a process left behind by a crash is forgotten then. */
const PROCESS_KEPT_MS = 3_600_000;

const NONE: readonly EarlyRelease[] = [];

/** The operations of people, as stages see them. */
export interface OperatorActions {
  /** In force at this moment; null: no command pauses it. */
  readonly pauseOf: (destination: DestinationId) => Pause | null;
  /** In the order in which they were asked for. */
  readonly earlyReleasesOf: (destination: DestinationId) => readonly EarlyRelease[];
  readonly earlyReleases: () => readonly EarlyRelease[];
  /**
   * All of the pull below this offset has left the partition; 0: not of a topic with that id. One that
   * is not known, on either side, is taken for the same.
   */
  readonly releasedThrough: (
    id: string,
    delay: string,
    partition: number,
    topicId?: string,
  ) => number;
  /** Returns how to end that. @param listener is told of whom something has changed. */
  readonly onChange: (listener: (destination: DestinationId) => void) => () => void;
  /**
   * The listener is told what processes, this one too, learn of endpoints. Returns how to end that.
   */
  readonly onNews: (listener: (news: EndpointNews) => void) => () => void;
}

/** Nobody asks for anything. */
export const NO_OPERATOR_ACTIONS: OperatorActions = {
  pauseOf: () => null,
  earlyReleasesOf: () => NONE,
  earlyReleases: () => NONE,
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
  /** By pull, then by tier and partition. */
  readonly #released = new Map<string, Map<string, Through>>();
  readonly #processes = new Map<
    string,
    { readonly process: ProcessRecord; readonly atMs: number }
  >();
  #count = 0;

  /**
   * False: there are too many, and it is left out.
   *
   * @param atMs of its record.
   */
  apply(operation: OperatorAction, atMs = 0): boolean {
    switch (operation.kind) {
      case "process": {
        const { process } = operation;
        if (!this.#processes.has(process.id) && !this.#hasRoom()) return false;
        this.#processes.set(process.id, { process, atMs });
        return true;
      }
      case "forget-process":
        if (this.#processes.delete(operation.id)) this.#count -= 1;
        return true;
      case "pause": {
        const { pause } = operation;
        if (!this.#pauses.has(pause.destination) && !this.#hasRoom()) return false;
        this.#pauses.set(pause.destination, pause);
        return true;
      }
      case "resume":
        if (this.#pauses.delete(operation.destination)) this.#count -= 1;
        return true;
      case "release":
        return this.#addEarlyRelease(operation.earlyRelease);
      case "released": {
        const { id, delay, partition, through, topicId } = operation.released;
        const parts = this.#released.get(id) ?? new Map<string, Through>();
        const place = `${delay}/${partition}`;
        if (!parts.has(place) && !this.#hasRoom()) return false;
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
        this.#count -= this.#released.get(operation.id)?.size ?? 0;
        this.#released.delete(operation.id);
        return true;
    }
  }

  /** Whether its time is over or not. */
  pauses(): readonly Pause[] {
    return [...this.#pauses.values()];
  }

  pauseOf(destination: DestinationId, nowMs: number): Pause | null {
    const pause = this.#pauses.get(destination);
    return pause === undefined || isOver(pause, nowMs) ? null : pause;
  }

  /** When the next pause is over; null: none ends by itself. */
  nextEndMs(nowMs: number): number | null {
    const ends = this.pauses().flatMap((pause) =>
      pause.untilMs === null || isOver(pause, nowMs) ? [] : [pause.untilMs],
    );
    return ends.length === 0 ? null : Math.min(...ends);
  }

  earlyReleases(): readonly EarlyRelease[] {
    return [...this.#earlyReleases.values()].flat();
  }

  earlyReleasesOf(destination: DestinationId): readonly EarlyRelease[] {
    return this.#earlyReleases.get(destination) ?? NONE;
  }

  /** Those that run, as far as is known. */
  processes(nowMs: number): readonly ProcessRecord[] {
    return [...this.#processes.values()].flatMap(({ process, atMs }) =>
      Math.abs(nowMs - atMs) > PROCESS_KNOWN_MS ? [] : [process],
    );
  }

  /** Keys of records that say nothing any more. */
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
    if (others.length === all.length && !this.#hasRoom()) return false;
    this.#earlyReleases.set(earlyRelease.destination, [...others, earlyRelease]);
    return true;
  }

  #forgetEarlyRelease(destination: DestinationId, id: string): void {
    const all = this.#earlyReleases.get(destination) ?? [];
    const others = all.filter((earlyRelease) => earlyRelease.id !== id);
    this.#count -= all.length - others.length;
    if (others.length === 0) this.#earlyReleases.delete(destination);
    else this.#earlyReleases.set(destination, others);
  }

  #hasRoom(): boolean {
    if (this.#count >= OPERATIONS_MAX) return false;
    this.#count += 1;
    return true;
  }
}

/** The place of a record in a delay topic. */
export interface DelayTopicPlace {
  readonly delay: string;
  readonly partition: number;
  readonly offset: number;
  /** Empty: the brokers know no ids. */
  readonly topicId: string;
}

/** Whether a record of a delay topic has left it, although it lies there. */
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
