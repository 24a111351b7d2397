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

interface Named {
  readonly path: Path;
  readonly text: string;
}

export function problemsAcross(tree: unknown): readonly Problem[] {
  const sources = entries(tree, ["sources"]);
  const destinations = entries(tree, ["destinations"]);
  const sourceIds = texts(sources, ["id"]);
  const destinationIds = texts(destinations, ["id"]);
  const named = sources.map(({ raw, path }) => texts(entries(raw, ["destinations"], path), []));
  const networks = texts(entries(at(tree, ["delivery"]), ["allowNetworks"]), []);
  const allowNetworks = networks.flatMap(({ text }) => parseNetwork(text) ?? []);
  return [
    ...repeated(sourceIds, "an ID that no other source has"),
    ...repeatedKeys(sources),
    ...unknown(named.flat(), destinationIds, "destination"),
    ...named.flatMap((ofOne) => repeated(ofOne, "every destination at most once")),
    ...unknown(texts([{ raw: tree, path: [] }], ["defaultSource"]), sourceIds, "source"),
    ...repeated(destinationIds, "an ID that no other destination has"),
    ...destinations.flatMap((destination) => {
      const endpoints = entries(destination.raw, ["endpoints"], destination.path);
      const urls = texts(endpoints, ["url"]);
      return [
        ...repeated(
          texts(endpoints, ["id"]),
          "an ID that no other endpoint of the destination has",
        ),
        ...repeated(urls.map(normalised), "every URL of a destination at most once", showUrl),
        ...urls.flatMap(({ path, text }) => privateAddress(text, path, allowNetworks)),
      ];
    }),
    ...[
      ...texts(destinations, ["auth", "tokenUrl"]),
      ...texts([{ raw: tree, path: [] }], ["operatorEvents", "webhook", "url"]),
    ].flatMap(({ path, text }) => privateAddress(text, path, allowNetworks)),
    ...destinations.flatMap(({ raw, path }) =>
      ["filters", "map"].flatMap((rules) => {
        const named = entries(raw, [rules], path);
        return named.flatMap((rule) =>
          unknown(texts(entries(rule.raw, ["sources"], rule.path), []), sourceIds, "source"),
        );
      }),
    ),
    ...audienceProblems(tree, sourceIds),
    ...topicProblems(tree, destinationIds),
    ...fallingDelays(tree),
    ...samePort(tree),
  ];
}

function audienceProblems(tree: unknown, sourceIds: readonly Named[]): readonly Problem[] {
  const audiences = entries(tree, ["audiences"]);
  const root = [{ raw: tree, path: [] }];
  return [
    ...repeated(texts(audiences, ["id"]), "an ID that no other audience has"),
    ...repeated(texts(audiences, ["key"]), "a key that no other audience has"),
    ...unknown(texts(audiences, ["source"]), sourceIds, "source"),
    ...unknown(texts(root, ["audienceDefaults", "source"]), sourceIds, "source"),
  ];
}

interface Entry {
  readonly raw: unknown;
  readonly path: Path;
}

/** Returns the entries of a list below a node; none if the value is not a list. */
function entries(root: unknown, path: readonly string[], from: Path = []): readonly Entry[] {
  const given = at(root, path);
  // A variable contains a list as a string. If the file itself has such a string, the setting's decoder rejects it.
  const list = typeof given === "string" ? listFromText(given) : given;
  if (!Array.isArray(list)) return [];
  return list.map((raw, index) => ({ raw, path: [...from, ...path, index] }));
}

/** Returns the strings at a path below each node. Other values are reported elsewhere. */
function texts(nodes: readonly Entry[], path: readonly string[]): readonly Named[] {
  return nodes.flatMap(({ raw, path: from }) => {
    const text = at(raw, path);
    return typeof text === "string" ? [{ path: [...from, ...path], text }] : [];
  });
}

function at(root: unknown, path: readonly string[]): unknown {
  let node = root;
  for (const key of path) {
    node = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  }
  return node;
}

function repeated(
  named: readonly Named[],
  expected: string,
  show: (text: string) => unknown = (text) => text,
): readonly Problem[] {
  return repeats(named).map(([{ path, text }, first]) => {
    return {
      path,
      found: `${describe(show(text))}, as in ${pathText(first)}`,
      expected,
      hint: null,
    };
  });
}

function repeatedKeys(sources: readonly Entry[]): readonly Problem[] {
  const keys = sources.flatMap((source) => [
    ...texts([source], ["writeKey"]),
    ...texts(entries(source.raw, ["writeKeys"], source.path), []),
  ]);
  return repeats(keys).map(([{ path }, first]) => {
    const expected = "a write key that is used only once";
    return { path, found: `the write key of ${pathText(first)}`, expected, hint: null };
  });
}

function repeats(named: readonly Named[]): readonly (readonly [Named, Path])[] {
  const firsts = new Map<string, Path>();
  return named.flatMap((entry) => {
    const first = firsts.get(entry.text);
    if (first !== undefined) return [[entry, first] as const];
    firsts.set(entry.text, entry.path);
    return [];
  });
}

function unknown(named: readonly Named[], ids: readonly Named[], what: string): readonly Problem[] {
  const known = new Set(ids.map(({ text }) => text));
  const choices = known.size === 0 ? "none is configured" : [...known].slice(0, 20).join(", ");
  return named
    .filter(({ text }) => !known.has(text))
    .map(({ path, text }, index) => {
      const expected = `the ID of a ${what} (${choices})`;
      const similar = index < HINTS_MAX ? nearest(text, [...known]) : null;
      const hint = similar === null ? null : `did you mean ${similar}?`;
      return { path, found: describe(text), expected, hint };
    });
}

/**
 * Only the ports are compared, because at least one of the two hosts is usually the address for all interfaces. Port 0
 * means any free port.
 */
function samePort(tree: unknown): readonly Problem[] {
  const port = Number(at(tree, ["ingest", "port"]) ?? INGEST_PORT);
  if (port === 0 || port !== Number(at(tree, ["admin", "port"]) ?? ADMIN_PORT)) return [];
  const found = `${port}, as in admin.port`;
  return [
    { path: ["ingest", "port"], found, expected: "a port that no other setting uses", hint: null },
  ];
}

/** Normalizes a URL, so that two spellings of one URL count as one endpoint. */
function normalised({ path, text }: Named): Named {
  return { path, text: URL.parse(text)?.href ?? text };
}

function topicProblems(tree: unknown, ids: readonly Named[]): readonly Problem[] {
  const given = at(tree, ["kafka", "topicPrefix"]);
  const names = topicNames(typeof given === "string" ? given : "switchyard.");
  const problems = ids
    .filter(({ text }) => topicOf(names, text).length > TOPIC_NAME_CHARACTERS_MAX)
    .map(({ path, text }): Problem => {
      const spare = TOPIC_NAME_CHARACTERS_MAX - topicOf(names, "").length;
      const expected = `at most ${spare} characters, because Kafka allows topic names of up to ${TOPIC_NAME_CHARACTERS_MAX}`;
      return { path, found: `${text.length} characters`, expected, hint: null };
    });
  const taken = ids.flatMap(({ text }) => [
    topicOf(names, text),
    names.retries(text as DestinationId),
  ]);
  return [...problems, ...takenNames(at(tree, ["kafka", "topics"]), names, taken)];
}

/** Reports configured topic names that another topic of the plan also has. */
function takenNames(
  given: unknown,
  names: TopicNames,
  ofDestinations: readonly string[],
): readonly Problem[] {
  const own = OWN_TOPICS.map((topic) => ({ topic, name: at(given, [topic]) ?? names[topic] }));
  const others = [
    ...ofDestinations,
    names.deadLetters,
    names.audienceMembers,
    names.audiences,
    names.operatorActions,
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

function fallingDelays(tree: unknown): readonly Problem[] {
  const delays = texts(entries(at(tree, ["delivery"]), ["retryDelays"], ["delivery"]), []);
  return delays.flatMap(({ path, text }, index) => {
    const before = delays[index - 1]?.text;
    const ms = parseDuration(text);
    const beforeMs = before === undefined ? null : parseDuration(before);
    if (ms === null || beforeMs === null || ms >= beforeMs) return [];
    const found = `${describe(text)} after ${describe(before)}`;
    const hint = "put the delays in order";
    return [
      { path, found, expected: "a delay that is at least as long as the previous one", hint },
    ];
  });
}

const PUBLIC_ADDRESS = "a public address, or one in a network that delivery.allowNetworks contains";

/**
 * Reports a URL with a private address that `delivery.allowNetworks` does not allow, because every request to that
 * address would be blocked. Host names other than `localhost` are looked up and checked when a request is made.
 *
 * @param url a complete or incomplete URL; a string that is not a URL is reported elsewhere.
 */
function privateAddress(
  url: string,
  path: Path,
  allowNetworks: readonly Network[],
): readonly Problem[] {
  const hostname = URL.parse(url)?.hostname;
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
