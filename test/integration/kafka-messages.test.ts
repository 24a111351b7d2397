/**
 * Each request that we send and its response, in each version, against Kafka's own classes: what we encode is decoded in
 * Java, and what Java encodes is decoded here. Then responses that are cut off or altered, or claim billions of entries.
 *
 *   SWITCHYARD_MESSAGE_BODIES=1000   how many requests, and as many responses
 *   SWITCHYARD_MESSAGE_SEED=17       the seed that a failure named
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { SENT_REQUESTS } from "../../src/kafka/broker/requests.ts";
import { inTime } from "../../src/kafka/cluster/brokers.ts";
import { errorType } from "../../src/kafka/cluster/kafka-error.ts";
import { createPrng, type Prng } from "../support/clock/prng.ts";
import {
  type Fields,
  isIn,
  randomMessage,
  startMessageBroker,
} from "../support/servers/message-broker.ts";
import {
  connect,
  errorIn,
  KINDS,
  type Kind,
  ours,
  pair,
  SENT,
  type Us,
} from "../support/worlds/kafka-messages.ts";

const BODIES = Number(process.env.SWITCHYARD_MESSAGE_BODIES ?? 2_000);
const SEED = Number(process.env.SWITCHYARD_MESSAGE_SEED ?? Date.now() % 1_000_000);
/** For a request that waits forever. */
const LIMIT_MS = 20_000;

/** The first difference; null if there is none. Fields that one side lacks are not compared. Null counts as empty. */
function difference(got: Fields, wanted: Fields, path: string): string | null {
  if (got instanceof Map) return difference([...got].map(pair), wanted, path);
  if (got === undefined || wanted === undefined) return null;
  if (wanted === null && got?.length === 0) return null;
  const isLeaf = typeof got !== "object" || got === null || Buffer.isBuffer(got) || wanted === null;
  const text = (value: Fields) => (Buffer.isBuffer(value) ? value.toString("base64") : `${value}`);
  if (isLeaf || got.length !== wanted.length)
    return text(got) === text(wanted) ? null : `${path} is ${text(got)} instead of ${text(wanted)}`;
  for (const [name, value] of Object.entries(got)) {
    const found = difference(value, wanted[name], `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

let broker: Exclude<Awaited<ReturnType<typeof startMessageBroker>>, string>;
let missing: string | null = null;
const apiOf = (kind: string) => kind.split(" ")[0] ?? "";
const definitionOf = (api: string, type: "Request" | "Response") => broker.definitions[api + type];

beforeAll(async () => {
  const apis = [...new Set(Object.keys(KINDS).map(apiOf))];
  const started = await startMessageBroker(
    apis.flatMap((api) => [`${api}Request`, `${api}Response`]),
  );
  if (typeof started === "string") missing = started;
  else broker = started;
});
afterAll(() => broker?.stop());

/** What other requests get from the only broker, which supports all versions of them. */
function otherwise(apiKey: number, version: number, { coordinatorKeys = [] }: Fields): Fields {
  const place = { nodeId: 1, host: "127.0.0.1", port: broker.port, rack: null, errorMessage: null };
  const others = new Set(SENT_REQUESTS.map((each) => each.apiKey));
  others.delete(apiKey);
  const all = [...others].map((each) => ({ apiKey: each, minVersion: 0, maxVersion: 9 }));
  return {
    ...{ ...place, brokers: [place], controllerId: 1, topics: [] },
    // While versions of ApiVersions are compared, a newer one is not supported.
    errorCode: apiKey === 18 ? 35 : 0,
    apiKeys: [...all, { apiKey, minVersion: version, maxVersion: version }],
    coordinators: coordinatorKeys.map((key: string) => ({ ...place, key, errorCode: 0 })),
    mechanisms: ["PLAIN"],
  };
}

/** Sends a random request, which gets a random response. @returns the first difference. */
async function exchange(us: Us, kindName: string, version: number, random: Prng, altered?: Fields) {
  const { ask, got = ours, throws, sent, given = {} } = KINDS[kindName] as Kind;
  const { apiKey, fields } = definitionOf(apiOf(kindName), "Request");
  const request = randomMessage(fields, version, random, { ...SENT, ...sent?.(random) }, false);
  let problem: string | null = null;
  let response: Fields;
  broker.respond = (received) => {
    problem ??= received.problem ?? null;
    if (received.problem !== undefined) return {};
    const isAsked = received.apiKey === apiKey && received.version === version;
    const values = isAsked ? given : otherwise(apiKey, version, received.body);
    const isIts = (each: string) => definitionOf(each, "Request").apiKey === received.apiKey;
    const definition = definitionOf(Object.keys(KINDS).map(apiOf).find(isIts) ?? "", "Response");
    const body = randomMessage(definition.fields, received.version, random, values, true);
    if (!isAsked) return { body };
    // What a corrupt response says may change the next request: with fewer settings, if it rejects settings.
    if (altered === undefined || response === undefined)
      problem ??= difference(received.body, request, "request");
    response = body;
    return { body, ...altered };
  };
  let result: Fields;
  let error: Fields = {};
  try {
    result = await inTime(Promise.resolve(ask(us, ours(request))), LIMIT_MS);
  } catch (reason) {
    error = (reason as Error).cause ?? reason;
  }
  // A response may make us wait, for as long as its throttle time.
  if (altered !== undefined && error.message?.startsWith("no response within"))
    return us.clients.throttles.isThrottled() ? problem : "no end";
  if (problem !== null || altered !== undefined) return problem;
  const code = throws ? errorIn(response) : 0;
  if (code !== 0) return difference(`${error.type}`, errorType(code), "the error in the response");
  if (error instanceof Error) return `the response is rejected: ${error.message}`;
  if (result instanceof Function) result = result(ours(response));
  return difference(result, got(ours(response)), "response");
}

const versionsOf = (kind: string) => {
  const { apiKey, validVersions } = definitionOf(apiOf(kind), "Request");
  return SENT_REQUESTS.flatMap((each) => (each.apiKey === apiKey ? each.versions : [])).filter(
    (version) => isIn(KINDS[kind]?.only ?? "0+", version) && isIn(validVersions, version),
  );
};

/** How many requests there are of each kind in each version. */
const share = () => Math.ceil(BODIES / Object.keys(KINDS).flatMap(versionsOf).length);

test("each request is compared in each version that Kafka's classes support", ({ skip }) => {
  if (missing !== null) skip(missing);
  const sent = SENT_REQUESTS.flatMap(({ apiName, versions }) => {
    const { validVersions = "0+" } = definitionOf(apiOf(apiName), "Request") ?? {};
    const supported = versions.filter((version) => isIn(validVersions, version));
    return supported.map((version) => `${apiOf(apiName)} ${version}`);
  });
  const compared = Object.keys(KINDS).flatMap((kind) =>
    versionsOf(kind).map((version) => `${apiOf(kind)} ${version}`),
  );
  expect(new Set(compared)).toEqual(new Set(sent));
});

test.for(Object.keys(KINDS))("%s: Kafka's classes see the same fields", async (kind, { skip }) => {
  if (missing !== null) skip(missing);
  const random = createPrng(SEED);
  for (const version of versionsOf(kind)) {
    using us = connect(broker.port);
    for (let left = share(); left > 0; left -= 1) {
      const found = await exchange(us, kind, version, random);
      expect(found, `${kind} version ${version}, seed ${SEED}`).toBeNull();
    }
  }
});
test.for(Object.keys(KINDS))("%s: a corrupt response has no effect", async (kind, { skip }) => {
  if (missing !== null) skip(missing);
  const random = createPrng(SEED);
  for (const version of versionsOf(kind)) {
    for (let left = share() / 10; left > 0; left -= 1) {
      using us = connect(broker.port);
      const altered = alteration(random);
      const what = `${kind} version ${version}, seed ${SEED}, ${JSON.stringify(altered)}`;
      const { heapUsed } = process.memoryUsage();
      expect(await exchange(us, kind, version, random, altered), what).toBeNull();
      expect(process.memoryUsage().heapUsed - heapUsed, what).toBeLessThan(HEAP_MAX_BYTES);
      if (!us.clients.throttles.isThrottled())
        expect(await exchange(us, kind, version, random), what).toBeNull();
    }
  }
});
/** Less than the entries would take that the altered counts claim, 10 million or more. */
const HEAP_MAX_BYTES = 64_000_000;
const COUNTS = "7fffffff 01f78a40 00989680 80000000 fffffffe feffffff0f 80ade204".split(" ");

function alteration(random: Prng): Fields {
  const byte = random.integer(0, 255).toString(16).padStart(2, "0");
  return {
    at: random.fraction(),
    ...random.pick([
      { kept: random.fraction() },
      { length: random.pick([-(2 ** 31), -9, -4, -1, 0, 3]) },
      { patch: byte },
      { patch: random.pick(COUNTS) },
    ]),
  };
}
