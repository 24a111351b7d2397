/**
 * Writes calls of the topic `calls` once more, to the topic of one destination.
 *
 *   step                                            a crash after it, when the replay is resumed
 *   0  the plan and the ends of `calls` are         it begins with the first call
 *      committed
 *   1  records are read, and routed for the         the same records are read again
 *      destination alone
 *   2  a batch of copies is written and             its copies, at most 500, are written again, under
 *      acknowledged                                 the same message ids
 *   3  the positions behind the batch are           nothing is repeated
 *      committed
 *   4  all is read; the replay's groups are         nothing is left to do
 *      deleted
 *
 * So a position is committed only when every copy of every record before it is acknowledged: a crash
 * repeats at most a batch, and leaves nothing out. A graceful interruption writes and commits what is
 * in hand. Only the process that owns the replay writes (src/operate/replay/replay-store.ts).
 *
 *   trouble                                         then
 *   the registry does not answer                    waits for it, as route does
 *   the brokers are away                            waits
 *   the destination's topic takes nothing           the batch is tried again, until it does
 *   ... because it is gone                          fails, and can be resumed when it is there again
 *   a copy is too large for the topic               is counted as refused
 *   a damaged batch on `calls`                      fails, naming its offset
 *
 * A partition's calls keep their order, so that a key's do. Those of several partitions are written in
 * the order of time.
 */

import type { Destination } from "../../../domain/destination.ts";
import type { IncomingRecord, OutgoingRecord } from "../../../domain/record.ts";
import type { TopicNames } from "../../../domain/topics.ts";
import { ClosedError, type Kafka, type Producer } from "../../../kafka/port.ts";
import type { Schemas } from "../../../registry/port.ts";
import { routeAgain } from "../../../route/route-for-replay.ts";
import type { Routing } from "../../../route/routing.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { givenSchema } from "../../../stage/await-schemas.ts";
import { forbiddenText } from "../../connect/command-producer.ts";
import { mergeByTime } from "../merge-by-time.ts";
import { Pace, ReplayCommits, type ReplayEnd, runReplaying } from "../replay-loop.ts";
import { ReplayStore } from "../replay-store.ts";
import { CallReplayProgress } from "./progress.ts";
import { type Counts, OF_CALLS, type StoredCallReplay } from "./stored-replay.ts";

const READ_MAX_BYTES = 1_048_576;
const BATCH_MAX = 500;
const BATCH_MAX_BYTES = 4 * 1_048_576;
/** Of records for which nothing is written, from one commit to the next. */
const FILTERED_MAX = 20_000;
const TRY_AGAIN_MS = 1_000;

export interface CallReplayDeps {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly topics: TopicNames;
  readonly producer: Producer;
  readonly clock: Clock;
  /** Null: no registry is configured. */
  readonly schemas: Schemas | null;
  readonly destination: Destination;
  readonly routing: Routing;
  readonly signal: AbortSignal;
  /** The process that works on the replay. */
  readonly by: string;
  readonly onProgress: (progress: { readonly read: number; readonly counts: Counts }) => void;
  /** It waits for this; null: it goes on. */
  readonly onWaiting: (why: string | null) => void;
}

/**
 * Works on a replay that has begun, or was taken over, until it is done or the signal aborts.
 *
 * @throws Error when Kafka fails, or another process takes the replay over: it can be resumed.
 */
export async function replayCalls(
  deps: CallReplayDeps,
  name: string,
  stored: StoredCallReplay,
): Promise<ReplayEnd> {
  const { kafka, topics } = deps;
  const store = new ReplayStore(kafka.admin, topics, name, OF_CALLS);
  const work = new Work(deps, store, stored);
  return runReplaying(deps, store, () => work.run());
}

/** Reads and counts what a replay has yet to do, and writes nothing. False: interrupted. */
export async function countCalls(deps: CallReplayDeps, stored: StoredCallReplay): Promise<boolean> {
  const partitions = stored.partitions.map((at) => ({ ...at, counts: {} }));
  const progress = new CallReplayProgress({ ...stored, partitions });
  for await (const records of callsOf(deps, stored)) {
    for (const record of records) {
      if (deps.signal.aborted) return false;
      progress.moveOn(record, routedBy(deps, stored, await withKnownSchema(deps, record)));
    }
    deps.onProgress(progress);
  }
  return !deps.signal.aborted;
}

function callsOf(
  { kafka, topics, signal }: CallReplayDeps,
  { partitions }: StoredCallReplay,
): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
  const topic = topics.calls;
  return mergeByTime(
    partitions.map(({ partition, position: from, to }) =>
      kafka.read({ topic, partition, from, to, maxBytes: READ_MAX_BYTES, signal }),
    ),
  );
}

function routedBy(
  { routing, destination, clock }: CallReplayDeps,
  { plan }: StoredCallReplay,
  record: IncomingRecord,
) {
  return routeAgain(record, plan.asked, routing, destination, clock.nowMs());
}

/** Waits for the schema of its value through outages, as route does. */
async function withKnownSchema(
  { schemas, signal, onWaiting }: CallReplayDeps,
  record: IncomingRecord,
): Promise<IncomingRecord> {
  if (schemas === null || record.omitted !== undefined) return record;
  for (let isWaiting = false; ; isWaiting = true) {
    const given = givenSchema(record, (ref) => schemas.get(ref));
    if (typeof given === "object") {
      if (isWaiting) onWaiting(null);
      return given;
    }
    onWaiting(`schema ${given} of the registry`);
    await schemas.ready([given], signal);
  }
}

class Work {
  readonly #deps: CallReplayDeps;
  readonly #commits: ReplayCommits;
  readonly #stored: StoredCallReplay;
  readonly #pace: Pace;
  readonly #progress: CallReplayProgress;
  /** With the partition of `calls` that it comes from. */
  #batch = new Map<OutgoingRecord, number>();
  #batchBytes = 0;
  #batchSinceMs = 0;
  #filtered = 0;

  constructor(
    deps: CallReplayDeps,
    store: ReplayStore<StoredCallReplay>,
    stored: StoredCallReplay,
  ) {
    const { perSecond } = stored.plan;
    this.#deps = deps;
    this.#stored = stored;
    this.#progress = new CallReplayProgress(stored);
    this.#commits = new ReplayCommits(store, this.#progress, deps);
    this.#pace = new Pace(perSecond, deps);
  }

  async run(): Promise<ReplayEnd> {
    reading: for await (const records of callsOf(this.#deps, this.#stored)) {
      for (const record of records) if (!(await this.#take(record))) break reading;
    }
    await this.#flush();
    return this.#deps.signal.aborted ? "interrupted" : "done";
  }

  /** False: the signal aborted, and the record was not taken. */
  async #take(record: IncomingRecord): Promise<boolean> {
    const { signal, clock } = this.#deps;
    if (signal.aborted) return false;
    const routed = await this.#routed(record);
    if (routed === null) return false;
    if (routed.kind !== "written") {
      this.#progress.moveOn(record, routed);
      this.#filtered += 1;
      if (this.#filtered >= FILTERED_MAX) await this.#flush();
      return true;
    }
    const waitingSinceMs = () => (this.#batch.size === 0 ? null : this.#batchSinceMs);
    if (!(await this.#pace.turn(waitingSinceMs, () => this.#flush()))) return false;
    if (this.#batch.size === 0) this.#batchSinceMs = clock.nowMs();
    this.#batch.set(routed.outgoing, record.partition);
    this.#batchBytes += routed.outgoing.value?.length ?? 0;
    this.#progress.moveOn(record, routed);
    const isFull = this.#batch.size >= BATCH_MAX || this.#batchBytes >= BATCH_MAX_BYTES;
    if (isFull) await this.#flush();
    return true;
  }

  /** Null: interrupted while it waited for a schema. */
  async #routed(record: IncomingRecord) {
    const { signal } = this.#deps;
    try {
      return routedBy(this.#deps, this.#stored, await withKnownSchema(this.#deps, record));
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** Writes what is in hand, then commits. */
  async #flush(): Promise<void> {
    const { onProgress } = this.#deps;
    await this.#commits.assertOwned();
    await this.#write([...this.#batch.keys()]);
    this.#batch = new Map();
    this.#batchBytes = 0;
    this.#filtered = 0;
    // Writing may have taken long, through an outage.
    await this.#commits.assertOwned();
    await this.#commits.commit();
    onProgress(this.#progress);
  }

  /** Resolves when each is acknowledged, or refused for its size. */
  async #write(records: readonly OutgoingRecord[]): Promise<void> {
    const { producer, clock, signal, onWaiting } = this.#deps;
    for (let left = records; left.length > 0; ) {
      const refused = await producer.send(left, { giveBack: true });
      const back = refused.filter(({ blocked }) => blocked !== undefined);
      for (const { record, blocked } of refused) {
        const partition = this.#batch.get(record);
        if (blocked === undefined && partition !== undefined) this.#progress.refuse(partition);
      }
      left = back.map(({ record }) => record);
      const [first] = back;
      if (first === undefined) break;
      if (first.blocked === "forbidden") {
        throw new Error(forbiddenText(first.record.topic, first.error));
      }
      if (first.blocked === "missing") {
        throw new Error(
          `the topic ${first.record.topic} is gone. Create it: switchyard topics --apply`,
        );
      }
      onWaiting(`the topic ${first.record.topic}, which takes nothing: ${first.error}`);
      await clock.sleep(TRY_AGAIN_MS, signal).catch(() => undefined);
      if (signal.aborted) throw new ClosedError("interrupted");
    }
    onWaiting(null);
  }
}
