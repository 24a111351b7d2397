/**
 * Reads and writes records of the topic `operator-actions`. With these records, operators control destinations, and
 * processes inform each other about endpoints and about the destinations to which they route. Values are JSON
 * (`schemas/operator-action.schema.json`). The topic is compacted, and the last record with a key applies.
 *
 *   key                              value                       means
 *   pause/<destination>              start, author and end       no deliveries to it are attempted
 *                                     of the pause
 *   pause/<destination>              none                        the pause has ended
 *   release/<destination>/<id>       retry or cancel, and the    deliveries awaiting retry leave the delay
 *                                     time of the request         topics, and are returned or dead-lettered
 *   released/<id>/<delay>/<part.>    offset, topic ID            progress of the early release in a partition
 *   gone/<destination>/<hash>        time and endpoint ID        the endpoint with this URL responded 410, and gets
 *                                                                no requests until the record is removed
 *   endpoint/<destination>/<id>      process, hash of the URL,   news for processes that read it when it is
 *                                    and whether the endpoint    written; it has no effect later
 *                                    accepts, fails or asked
 *                                    to wait
 *   process/<id>                     stages and routes           the process was running when the record was
 *                                                                written, and counts as running for 90 s
 *   any of these                     none                        the record is removed
 *   anything else, such as an        any                         rejected; a later version may have written it
 *     invalid destination ID
 */

import { type DestinationId, type EndpointKey, isDestinationId } from "../../domain/ids.ts";
import { type JsonObject, jsonObjectIn } from "../../domain/json.ts";
import type { OutgoingRecord, RecordContent } from "../../domain/record.ts";
import { isoTimestamp, readTimestamp } from "../../domain/timestamp.ts";
import { delayMsOfTopic } from "../../domain/topics.ts";

export interface Pause {
  readonly destination: DestinationId;
  readonly sinceMs: number;
  /** The author, such as `command`. */
  readonly by: string;
  /** Null if the pause has no end. */
  readonly untilMs: number | null;
}

const EARLY_RELEASES = ["retry", "cancel"] as const;
export type EarlyReleaseKind = (typeof EARLY_RELEASES)[number];

/** A request to take a destination's deliveries out of the delay topics before they are due. */
export interface EarlyRelease {
  readonly kind: EarlyReleaseKind;
  readonly destination: DestinationId;
  /** Consists of letters, digits and `-`. Records about the progress of the release refer to this ID. */
  readonly id: string;
  /** Applies to deliveries that were queued or scheduled for retry before this time. */
  readonly atMs: number;
  readonly by: string;
  /** A cancel applies only to calls that were received before this time. Null for a retry. */
  readonly receivedBeforeMs: number | null;
}

/** Progress of an early release: all records below `through` to which the release applies have left the partition. */
export interface Released {
  readonly id: string;
  readonly delay: string;
  readonly partition: number;
  readonly through: number;
  /** ID of the delay topic, because the topic may be recreated; empty if the brokers do not support topic IDs. */
  readonly topicId: string;
}

/** An endpoint that responded 410. */
export interface GoneEndpoint {
  readonly destination: DestinationId;
  /** The hash of the URL, so that another URL gets requests. */
  readonly endpoint: EndpointKey;
  /** The endpoint ID at that time. */
  readonly id: string;
  readonly atMs: number;
}

const NEWS = ["accepts", "fails", "asks", "proxy-fails", "proxy-works"] as const;

/** What a process has learned about an endpoint. */
export interface EndpointNews {
  readonly destination: DestinationId;
  /** The endpoint ID. It is the key, because a key that contained the hash would stay after each change of the URL. */
  readonly id: string;
  readonly endpoint: EndpointKey;
  /** ID of the process. */
  readonly process: string;
  /**
   * `accepts`: the endpoint accepted or rejected a call. `fails`: its circuit opened. `asks`: it sent `Retry-After`.
   * `proxy-fails`: the proxy in front of it failed. `proxy-works`: it works again.
   */
  readonly news: (typeof NEWS)[number];
  /**
   * For `asks`, the remaining time of Retry-After; for `proxy-fails`, the time until the next probe, or until the one in
   * progress has ended; otherwise 0.
   */
  readonly forMs: number;
}

/** How a running process describes itself. */
export interface ProcessRecord {
  readonly id: string;
  readonly stages: readonly string[];
  /** When the current routes took effect. */
  readonly sinceMs: number;
  /**
   * For each source, the destinations to which its calls may be routed. Empty if there are no sources, or too many
   * destinations to list.
   */
  readonly routes: ReadonlyMap<string, readonly string[]>;
}

/** How long a process counts as running after its last record. */
export const PROCESS_KNOWN_MS = 90_000;

export type OperatorAction =
  | { readonly kind: "process"; readonly process: ProcessRecord }
  | { readonly kind: "forget-process"; readonly id: string }
  | { readonly kind: "endpoint"; readonly news: EndpointNews }
  | { readonly kind: "gone"; readonly gone: GoneEndpoint }
  | {
      readonly kind: "forget-gone";
      readonly destination: DestinationId;
      readonly endpoint: EndpointKey;
    }
  | { readonly kind: "pause"; readonly pause: Pause }
  | { readonly kind: "resume"; readonly destination: DestinationId }
  | { readonly kind: "release"; readonly earlyRelease: EarlyRelease }
  | { readonly kind: "released"; readonly released: Released }
  | { readonly kind: "forget-release"; readonly destination: DestinationId; readonly id: string }
  | { readonly kind: "forget-released"; readonly id: string };

export type ReadOperatorAction =
  | OperatorAction
  | { readonly kind: "refused"; readonly error: string };

/** The topic has only one partition, so that records are read in the order in which they were written. */
export const OPERATIONS_PARTITION = 0;
const VERSION = 1;
const BY = /^[\x20-\x7e]{1,100}$/;
const ENDPOINT_KEY = /^[0-9a-f]{16}$/;
const ENDPOINT_ID = /^[a-z\d-]{1,64}$/;
const EARLY_RELEASE_ID = /^[A-Za-z0-9-]{1,64}$/;

export function pauseRecord(topic: string, { destination, sinceMs, by, untilMs }: Pause) {
  const until = untilMs === null ? null : isoTimestamp(untilMs);
  return written(topic, `pause/${destination}`, { since: isoTimestamp(sinceMs), by, until });
}

export function resumeRecord(topic: string, destination: DestinationId): OutgoingRecord {
  return written(topic, `pause/${destination}`, null);
}

export function earlyReleaseRecord(
  topic: string,
  { destination, id, ...of }: EarlyRelease,
): OutgoingRecord {
  const { kind, atMs, by, receivedBeforeMs } = of;
  const receivedBefore = receivedBeforeMs === null ? null : isoTimestamp(receivedBeforeMs);
  const value = { kind, at: isoTimestamp(atMs), by, receivedBefore };
  return written(topic, `release/${destination}/${id}`, value);
}

export function releasedRecord(
  topic: string,
  { id, delay, partition, through, topicId }: Released,
) {
  return written(topic, `released/${id}/${delay}/${partition}`, { through, topicId });
}

export function endpointRecord(topic: string, { destination, id, ...of }: EndpointNews) {
  return written(topic, `endpoint/${destination}/${id}`, of);
}

export function goneRecord(topic: string, { destination, endpoint, id, atMs }: GoneEndpoint) {
  return written(topic, goneKey(destination, endpoint), { at: isoTimestamp(atMs), id });
}

export function goneKey(destination: DestinationId, endpoint: EndpointKey): string {
  return `gone/${destination}/${endpoint}`;
}

/** Maximum size of the routes in a record. The other fields are small. */
const ROUTES_MAX_BYTES = 512 * 1_024;

export function processRecord(topic: string, process: ProcessRecord): OutgoingRecord {
  const { id, stages, sinceMs } = process;
  // Sources with the same destinations share one list, which keeps the record small, because many sources have the
  // same ones.
  const groups = Map.groupBy(process.routes, ([, destinations]) => destinations.join());
  const all = [...groups.values()].map((same) => ({
    sources: same.map(([source]) => source),
    destinations: same[0]?.[1] ?? [],
  }));
  const routes = JSON.stringify(all).length > ROUTES_MAX_BYTES ? [] : all;
  return written(topic, processKey(id), { stages, since: isoTimestamp(sinceMs), routes });
}

export function processKey(id: string): string {
  return `process/${id}`;
}

/** Creates a tombstone for the key. */
export function forgetRecord(topic: string, key: string): OutgoingRecord {
  return written(topic, key, null);
}

function written(topic: string, key: string, value: object | null): OutgoingRecord {
  return {
    topic,
    partition: OPERATIONS_PARTITION,
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(JSON.stringify({ v: VERSION, ...value })),
    headers: [],
  };
}

export function readOperatorAction({
  key,
  value,
}: Pick<RecordContent, "key" | "value">): ReadOperatorAction {
  const [kind = "", ...rest] = (key ?? Buffer.alloc(0)).toString().split("/");
  if (value === null) return readForgotten(kind, rest);
  const json = jsonObjectIn(value);
  if (json === null) return refused("its value is not a JSON object");
  if (json.v !== VERSION)
    return refused(`its "v" is not ${VERSION}, so a later version of Switchyard wrote it`);
  const [first = "", second = "", third = ""] = rest;
  switch (kind) {
    case "pause":
      return rest.length === 1 ? readPause(first, json) : refusedKey();
    case "endpoint":
      return rest.length === 2 ? readEndpoint(first, second, json) : refusedKey();
    case "gone":
      return rest.length === 2 ? readGone(first, second, json) : refusedKey();
    case "release":
      return rest.length === 2 ? readEarlyRelease(first, second, json) : refusedKey();
    case "released":
      return rest.length === 3 ? readReleased(first, second, third, json) : refusedKey();
    case "process":
      return rest.length === 1 && EARLY_RELEASE_ID.test(first)
        ? readProcess(first, json)
        : refusedKey();
    default:
      return refusedKey();
  }
}

function readForgotten(kind: string, rest: readonly string[]): ReadOperatorAction {
  const [first = "", id = ""] = rest;
  if (kind === "released" && EARLY_RELEASE_ID.test(first))
    return { kind: "forget-released", id: first };
  if (kind === "process" && EARLY_RELEASE_ID.test(first))
    return { kind: "forget-process", id: first };
  if (!isDestinationId(first)) return refusedKey();
  if (kind === "pause" && rest.length === 1) return { kind: "resume", destination: first };
  if (rest.length !== 2) return refusedKey();
  if (kind === "gone" && ENDPOINT_KEY.test(id))
    return { kind: "forget-gone", destination: first, endpoint: id as EndpointKey };
  if (kind !== "release") return refusedKey();
  return { kind: "forget-release", destination: first, id };
}

function readPause(destination: string, json: JsonObject): ReadOperatorAction {
  const sinceMs = instant(json.since);
  const untilMs = json.until === null ? null : instant(json.until);
  if (!isDestinationId(destination))
    return refused("its key does not contain a valid destination ID");
  if (sinceMs === undefined) return refused('its "since" is not a time');
  if (untilMs === undefined) return refused('its "until" is neither a time nor null');
  const by = readBy(json);
  if (by === null) return refused('its "by" is not a string of 1 to 100 ASCII characters');
  return { kind: "pause", pause: { destination, sinceMs, by, untilMs } };
}

function readEarlyRelease(destination: string, id: string, json: JsonObject): ReadOperatorAction {
  const kind = EARLY_RELEASES.find((each) => each === json.kind);
  const atMs = instant(json.at);
  const receivedBeforeMs = json.receivedBefore === null ? null : instant(json.receivedBefore);
  if (!(isDestinationId(destination) && EARLY_RELEASE_ID.test(id))) return refusedKey();
  if (kind === undefined) return refused(`its "kind" is not one of ${EARLY_RELEASES.join(", ")}`);
  if (atMs === undefined) return refused('its "at" is not a time');
  const isWhole =
    receivedBeforeMs !== undefined && (kind === "retry") === (receivedBeforeMs === null);
  if (!isWhole)
    return refused('its "receivedBefore" is not a time (for cancel) or null (for all other kinds)');
  const by = readBy(json);
  if (by === null) return refused('its "by" is not a string of 1 to 100 ASCII characters');
  return { kind: "release", earlyRelease: { kind, destination, id, atMs, by, receivedBeforeMs } };
}

function readEndpoint(destination: string, id: string, json: JsonObject): ReadOperatorAction {
  const { endpoint, process, forMs } = json;
  const news = NEWS.find((each) => each === json.news);
  if (!isDestinationId(destination) || !ENDPOINT_ID.test(id)) return refusedKey();
  if (typeof endpoint !== "string" || !ENDPOINT_KEY.test(endpoint))
    return refused('its "endpoint" is not the hash of a URL');
  if (typeof process !== "string" || !EARLY_RELEASE_ID.test(process))
    return refused('its "process" is not an ID');
  if (news === undefined) return refused(`its "news" is not one of ${NEWS.join(", ")}`);
  const isTime = typeof forMs === "number" && Number.isSafeInteger(forMs) && forMs >= 0;
  if (!isTime) return refused('its "forMs" is not a number of milliseconds');
  const of = { process, news, forMs };
  return { kind: "endpoint", news: { destination, id, endpoint: endpoint as EndpointKey, ...of } };
}

function readGone(destination: string, endpoint: string, json: JsonObject): ReadOperatorAction {
  const { id } = json;
  const atMs = instant(json.at);
  if (!isDestinationId(destination) || !ENDPOINT_KEY.test(endpoint)) return refusedKey();
  if (atMs === undefined) return refused('its "at" is not a time');
  if (typeof id !== "string" || !ENDPOINT_ID.test(id))
    return refused('its "id" is not an endpoint ID');
  return { kind: "gone", gone: { destination, endpoint: endpoint as EndpointKey, id, atMs } };
}

function readReleased(
  id: string,
  delay: string,
  partition: string,
  json: JsonObject,
): ReadOperatorAction {
  const { through, topicId = "" } = json;
  const isKey =
    EARLY_RELEASE_ID.test(id) && delayMsOfTopic(delay) !== null && /^\d{1,6}$/.test(partition);
  if (!isKey) return refusedKey();
  const isOffset = typeof through === "number" && Number.isSafeInteger(through) && through >= 0;
  if (!isOffset) return refused('its "through" is not an offset');
  if (typeof topicId !== "string") return refused('its "topicId" is not a string');
  return {
    kind: "released",
    released: { id, delay, partition: Number(partition), through, topicId },
  };
}

function readProcess(id: string, json: JsonObject): ReadOperatorAction {
  const { stages, routes } = json;
  const sinceMs = instant(json.since);
  if (!areTexts(stages)) return refused('its "stages" is not a list of strings');
  if (sinceMs === undefined) return refused('its "since" is not a time');
  if (!Array.isArray(routes)) return refused('its "routes" is not a list');
  const read = new Map<string, readonly string[]>();
  for (const route of routes as readonly unknown[]) {
    const { sources, destinations } = (route ?? {}) as JsonObject;
    if (!areTexts(sources) || !areTexts(destinations))
      return refused('its "routes" are not lists of sources and destinations');
    const wrong = destinations.find((each) => !isDestinationId(each));
    if (wrong !== undefined) return refused('its "routes" contain an invalid destination ID');
    for (const source of sources) read.set(source, destinations);
  }
  return { kind: "process", process: { id, stages, sinceMs, routes: read } };
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function instant(value: unknown): number | undefined {
  return typeof value === "string" ? (readTimestamp(value) ?? undefined) : undefined;
}

function readBy({ by }: JsonObject): string | null {
  return typeof by === "string" && BY.test(by) ? by : null;
}

function refusedKey(): ReadOperatorAction {
  return refused("its key is unknown to this version");
}

function refused(error: string): ReadOperatorAction {
  return { kind: "refused", error };
}
