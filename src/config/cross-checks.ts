/**
 * Checks that compare several settings. They read the values of the file rather than the decoded values, so that they
 * find problems even if something else in the same entry is invalid.
 *
 *   setting                         must
 *   sources[].id                    be unique
 *   sources[].writeKey(s)           be unique over all sources
 *   sources[].destinations[]        name destinations, each at most once
 *   defaultSource                   name a source
 *   destinations[].id               be unique, and short enough for a topic's name with the prefix
 *   destinations[].endpoints[].id   be unique in its destination
 *   destinations[].endpoints[].url  be unique in its destination, and not have a private address
 *   destinations[].auth.tokenUrl,   not have a private address
 *     operatorEvents.webhook.url
 *   destinations[].filters[].sources,
 *     destinations[].map[].sources  name a source
 *   audiences[].id, .key            be unique
 *   audiences[].source,             name a source
 *     audienceDefaults.source
 *   kafka.topics.*                  not be the name of another planned topic
 *   delivery.retryDelays            be in ascending order
 *   ingest.port                     differ from admin.port
 */

import { showUrl } from "../base/settings/endpoint-url.ts";
import { describe, type Path, type Problem, pathText } from "../base/settings/problem.ts";
import { listFromText, parseDuration } from "../base/settings/scalars.ts";
import {
  addressRange,
  isAllowedAddress,
  literalAddress,
  type Network,
  parseNetwork,
} from "../domain/addresses.ts";
import type { DestinationId } from "../domain/ids.ts";
import { isJsonObject } from "../domain/json.ts";
import { nearest } from "../domain/nearest.ts";
import { type TopicNames, topicNames } from "../domain/topics.ts";
import { INGEST_PORT } from "./ingest-settings.ts";
import { TOPIC_NAME_CHARACTERS_MAX } from "./kafka-settings.ts";
import { ADMIN_PORT } from "./settings.ts";

/** Topics whose names can be set in `kafka.topics`. */
const OWN_TOPICS = ["calls", "audienceSyncs", "deletionRequests"] as const;

/** Maximum number of problems with a hint. There is a limit because each hint compares an ID with all others. */
const HINTS_MAX = 20;

/** A value of the file. */
interface FoundValue<Value = unknown> {
  readonly path: Path;
  readonly value: Value;
}

type Text = FoundValue<string>;

export function problemsAcross(tree: unknown): readonly Problem[] {
  const file = { value: tree, path: [] };
  const all = (pattern: string) => textsAt(file, pattern);
  const sources = valuesAt(file, "sources.*");
  const destinations = valuesAt(file, "destinations.*");
  const sourceIds = all("sources.*.id");
  const destinationIds = all("destinations.*.id");
  const networks = all("delivery.allowNetworks.*").flatMap(
    ({ value }) => parseNetwork(value) ?? [],
  );
  const isPrivate = (text: Text) => privateAddress(text, networks);
  return [
    ...repeated(sourceIds, "an ID that no other source has"),
    ...repeatedKeys(
      sources.flatMap((source) => [
        ...textsAt(source, "writeKey"),
        ...textsAt(source, "writeKeys.*"),
      ]),
    ),
    ...unknown(all("sources.*.destinations.*"), destinationIds, "destination"),
    ...sources.flatMap((source) =>
      repeated(textsAt(source, "destinations.*"), "every destination at most once"),
    ),
    ...unknown(all("defaultSource"), sourceIds, "source"),
    ...repeated(destinationIds, "an ID that no other destination has"),
    ...destinations.flatMap((destination) => {
      const ids = textsAt(destination, "endpoints.*.id");
      const urls = textsAt(destination, "endpoints.*.url");
      return [
        ...repeated(ids, "an ID that no other endpoint of the destination has"),
        ...repeated(urls.map(normalised), "every URL of a destination at most once", showUrl),
        ...urls.flatMap(isPrivate),
      ];
    }),
    ...all("destinations.*.auth.tokenUrl").flatMap(isPrivate),
    ...all("operatorEvents.webhook.url").flatMap(isPrivate),
    ...destinations.flatMap((destination) =>
      ["filters", "map"].flatMap((rules) =>
        valuesAt(destination, `${rules}.*`).flatMap((rule) =>
          unknown(textsAt(rule, "sources.*"), sourceIds, "source"),
        ),
      ),
    ),
    ...repeated(all("audiences.*.id"), "an ID that no other audience has"),
    ...repeated(all("audiences.*.key"), "a key that no other audience has"),
    ...unknown(all("audiences.*.source"), sourceIds, "source"),
    ...unknown(all("audienceDefaults.source"), sourceIds, "source"),
    ...topicProblems(file, destinationIds),
    ...fallingDelays(all("delivery.retryDelays.*")),
    ...samePort(file),
  ];
}

/** The values at a path such as `destinations.*.id`; `*` stands for each entry of a list. */
function valuesAt(from: FoundValue, pattern: string): readonly FoundValue[] {
  let found = [from];
  for (const key of pattern.split(".")) {
    found = found.flatMap((each) => (key === "*" ? entriesOf(each) : memberOf(each, key)));
  }
  return found;
}

function entriesOf({ value, path }: FoundValue): FoundValue[] {
  // A variable contains a list as a string. If the file itself has such a string, the setting's decoder rejects it.
  const list: unknown = typeof value === "string" ? listFromText(value) : value;
  if (!Array.isArray(list)) return [];
  return list.map((entry: unknown, index) => ({ value: entry, path: [...path, index] }));
}

function memberOf({ value, path }: FoundValue, key: string): FoundValue[] {
  const isThere = isJsonObject(value) && Object.hasOwn(value, key);
  return isThere ? [{ value: value[key], path: [...path, key] }] : [];
}

/** The strings at a path. Other values are reported elsewhere. */
function textsAt(from: FoundValue, pattern: string): readonly Text[] {
  return valuesAt(from, pattern).filter((each): each is Text => typeof each.value === "string");
}

function valueAt(from: FoundValue, pattern: string): unknown {
  return valuesAt(from, pattern)[0]?.value;
}

function repeated(
  texts: readonly Text[],
  expected: string,
  show: (text: string) => unknown = (text) => text,
): readonly Problem[] {
  return repeats(texts).map(([{ path, value }, first]) => {
    const found = `${describe(show(value))}, as in ${pathText(first)}`;
    return { path, found, expected, hint: null };
  });
}

function repeatedKeys(keys: readonly Text[]): readonly Problem[] {
  return repeats(keys).map(([{ path }, first]) => {
    const expected = "a write key that is used only once";
    return { path, found: `the write key of ${pathText(first)}`, expected, hint: null };
  });
}

function repeats(texts: readonly Text[]): readonly (readonly [Text, Path])[] {
  const firsts = new Map<string, Path>();
  return texts.flatMap((text) => {
    const first = firsts.get(text.value);
    if (first !== undefined) return [[text, first] as const];
    firsts.set(text.value, text.path);
    return [];
  });
}

function unknown(texts: readonly Text[], ids: readonly Text[], what: string): readonly Problem[] {
  const known = new Set(ids.map(({ value }) => value));
  const choices = known.size === 0 ? "none is configured" : [...known].slice(0, 20).join(", ");
  return texts
    .filter(({ value }) => !known.has(value))
    .map(({ path, value }, index) => {
      const expected = `the ID of a ${what} (${choices})`;
      const similar = index < HINTS_MAX ? nearest(value, [...known]) : null;
      const hint = similar === null ? null : `did you mean ${similar}?`;
      return { path, found: describe(value), expected, hint };
    });
}

/**
 * Only the ports are compared, because at least one of the two hosts is usually the address for all interfaces. Port 0
 * means any free port.
 */
function samePort(file: FoundValue): readonly Problem[] {
  const port = Number(valueAt(file, "ingest.port") ?? INGEST_PORT);
  if (port === 0 || port !== Number(valueAt(file, "admin.port") ?? ADMIN_PORT)) return [];
  const [found, expected] = [`${port}, as in admin.port`, "a port that no other setting uses"];
  return [{ path: ["ingest", "port"], found, expected, hint: null }];
}

/** Normalizes a URL, so that two spellings of one URL count as one endpoint. */
function normalised({ path, value }: Text): Text {
  return { path, value: URL.parse(value)?.href ?? value };
}

function topicProblems(file: FoundValue, ids: readonly Text[]): readonly Problem[] {
  const given = valueAt(file, "kafka.topicPrefix");
  const names = topicNames(typeof given === "string" ? given : "switchyard.");
  const problems = ids
    .filter(({ value }) => topicOf(names, value).length > TOPIC_NAME_CHARACTERS_MAX)
    .map(({ path, value }): Problem => {
      const spare = TOPIC_NAME_CHARACTERS_MAX - topicOf(names, "").length;
      const expected = `at most ${spare} characters, because Kafka allows topic names of up to ${TOPIC_NAME_CHARACTERS_MAX}`;
      return { path, found: `${value.length} characters`, expected, hint: null };
    });
  const taken = ids.flatMap(({ value }) => [
    topicOf(names, value),
    names.retries(value as DestinationId),
    names.order(value as DestinationId),
  ]);
  return [...problems, ...takenNames(file, names, taken)];
}

/** Reports configured topic names that another topic of the plan also has. */
function takenNames(
  file: FoundValue,
  names: TopicNames,
  ofDestinations: readonly string[],
): readonly Problem[] {
  const own = OWN_TOPICS.map((topic) => {
    return { topic, name: valueAt(file, `kafka.topics.${topic}`) ?? names[topic] };
  });
  const others = [
    ...ofDestinations,
    names.deadLetters,
    names.audienceMembers,
    names.audiences,
    names.operatorActions,
    names.suppressions,
    names.ledger,
  ];
  const expected = "a name that no other topic has";
  return own.flatMap(({ topic, name }) => {
    if (typeof name !== "string" || name === names[topic]) return [];
    const isOwn = own.some((another) => another.topic !== topic && another.name === name);
    const isDelayTopic = name.startsWith(`${names.prefix}delays.`);
    if (!(isOwn || isDelayTopic || others.includes(name))) return [];
    return [{ path: ["kafka", "topics", topic], found: describe(name), expected, hint: null }];
  });
}

function topicOf(names: TopicNames, id: string): string {
  return names.deliveries(id as DestinationId);
}

function fallingDelays(delays: readonly Text[]): readonly Problem[] {
  return delays.flatMap(({ path, value }, index) => {
    const before = delays[index - 1]?.value;
    const ms = parseDuration(value);
    const beforeMs = before === undefined ? null : parseDuration(before);
    if (ms === null || beforeMs === null || ms >= beforeMs) return [];
    const found = `${describe(value)} after ${describe(before)}`;
    const expected = "a delay that is at least as long as the previous one";
    return [{ path, found, expected, hint: "put the delays in order" }];
  });
}

const PUBLIC_ADDRESS = "a public address, or one in a network that delivery.allowNetworks contains";

/**
 * Reports a URL with a private address that `delivery.allowNetworks` does not allow, because every request to that
 * address would be blocked. Host names other than `localhost` are looked up and checked when a request is made. A
 * string that is not a URL is reported elsewhere.
 */
function privateAddress(
  { value, path }: Text,
  allowNetworks: readonly Network[],
): readonly Problem[] {
  const hostname = URL.parse(value)?.hostname;
  if (hostname === undefined) return [];
  const report = (found: string, network: string): Problem[] => {
    const hint = `to allow it, add ${network} to delivery.allowNetworks`;
    return [{ path, found, expected: PUBLIC_ADDRESS, hint }];
  };
  const address = literalAddress(hostname);
  if (address !== null && !isAllowedAddress(address, allowNetworks)) {
    return report(`the address ${address} (${addressRange(address)})`, address);
  }
  if (!/^(?:.*\.)?localhost\.?$/.test(hostname)) return [];
  const isOpen = ["127.0.0.1", "::1"].some((ip) => isAllowedAddress(ip, allowNetworks));
  return isOpen ? [] : report(`${hostname} (loopback)`, "127.0.0.0/8");
}
