// Unmodified client libraries send to the ingest stage: every call type, and what happens to calls when the ingest
// stage fails.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningIngest } from "../../src/router/ingest/stage.ts";
import { headerTexts } from "../support/build/calls.ts";
import { FAILURES, FINAL_STATES, type FinalState } from "../support/servers/client-final-states.ts";
import {
  type ClientCall,
  type ClientLibrary,
  NPM_LIBRARIES,
  PYTHON_LIBRARIES,
  prepareJavaLibrary,
  preparePython,
} from "../support/servers/client-libraries.ts";
import { type Failure, failingGate } from "../support/servers/failing-gate.ts";
import {
  asJson,
  type CallsTopic,
  callsTopic,
  ingestOn,
  KEY,
} from "../support/worlds/ingest-on-kafka.ts";

const INTEGRATIONS = { All: false, Webhooks: true, Warehouse: true };

const CALLS: readonly ClientCall[] = [
  { type: "identify", userId: "u-1", traits: { plan: "pro", Größe: "☕" } },
  {
    type: "track",
    userId: "u-1",
    event: "Order Completed",
    properties: { total: 12.5, items: [1, 2] },
  },
  { type: "track", anonymousId: "a-1", event: "Seen", properties: {} },
  { type: "page", userId: "u-1", name: "Home", properties: { url: "https://a.example.com/" } },
  { type: "screen", userId: "u-1", name: "Start", properties: { tab: 1 } },
  { type: "group", userId: "u-1", groupId: "g-1", traits: { name: "Acme" } },
  { type: "alias", userId: "u-1", previousId: "a-1" },
];

let calls: CallsTopic;
let ingest: RunningIngest;
/** Node libraries need not wait until pip has finished. */
const noPython = preparePython();
const java = prepareJavaLibrary();
beforeAll(async () => {
  calls = await callsTopic("clients");
  ingest = await ingestOn(calls);
});
afterAll(async () => {
  await ingest?.[Symbol.asyncDispose]();
  await calls?.[Symbol.asyncDispose]();
});

/** Returns calls with a separate user, so that the calls of different libraries can be distinguished. */
function marked(mark: string): ClientCall[] {
  return CALLS.map((call) => ({ ...call, integrations: INTEGRATIONS, context: { mark } }));
}

const withMark = (mark: string) =>
  calls.taker.taken.filter(
    (record) => (asJson(record).context as { mark?: string })?.mark === mark,
  );

/** Returns a call without the keys that libraries may add or drop. */
function essence(call: Readonly<Record<string, unknown>>): object {
  const { type, userId, anonymousId, groupId, previousId, event, name, properties, traits } = call;
  const { traits: inContext } = (call.context ?? {}) as { readonly traits?: unknown };
  // RudderStack's libraries write the traits of an identify call there.
  const known = traits ?? (type === "identify" ? inContext : undefined);
  const all = { type, userId, anonymousId, groupId, previousId, event, name, properties };
  return Object.fromEntries(
    Object.entries({ ...all, traits: known }).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
}

async function checkEachCall(library: ClientLibrary): Promise<void> {
  const mark = library.name;
  await using gate = await failingGate(ingest.port, []);
  const sent = marked(mark);
  await library.send(gate.endpoint, KEY, sent);
  await calls.taker.until(() => withMark(mark).length >= sent.length);
  const records = withMark(mark);
  expect(records).toHaveLength(sent.length);
  const messageIds = new Set(records.map((record) => asJson(record).messageId));
  expect(messageIds.size).toBe(sent.length);
  for (const call of sent) {
    const { type, event } = call;
    const record = records.find((one) => {
      const value = asJson(one);
      return value.type === type && (type !== "track" || value.event === event);
    });
    const value = asJson(record ?? failMissing(type));
    expect(essence(value), `${mark} ${type}`).toMatchObject(essence(call));
    expect(value.integrations).toEqual(INTEGRATIONS);
    expect(value.receivedAt).toMatch(/^\d{4}-.*Z$/);
    expect(`${record?.key}`).toBe(call.userId ?? call.anonymousId);
    expect(headerTexts(record ?? { headers: [] })).toEqual({ "source-id": "web" });
    expect(`${record?.value}`).not.toContain(KEY);
  }
}

function failMissing(type: string): never {
  throw new Error(`there is no ${type} on the topic`);
}

let runs = 0;

/** Sends one track through a gate that fails first. */
async function finalStateOf(
  library: ClientLibrary,
  failures: readonly Failure[],
): Promise<FinalState> {
  runs += 1;
  const mark = `run ${runs}`;
  await using gate = await failingGate(ingest.port, failures);
  const call = { type: "track", userId: "u", event: "e", context: { mark } } as const;
  await library.send(gate.endpoint, KEY, [call]);
  // When this call has been read, all earlier calls of the same partition have also been read.
  const end = { ...call, context: { mark: `${mark} end` } };
  await sendDirectly(end);
  await calls.taker.until(() => withMark(`${mark} end`).length > 0);
  return (["lost", "delivered", "twice"] as const)[withMark(mark).length] ?? "twice";
}

async function sendDirectly(call: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ingest.port}/v1/track`, {
    method: "POST",
    body: JSON.stringify({ ...call, writeKey: KEY }),
  });
  expect(response.status).toBe(200);
}

/** The first stage stops while calls arrive, and a second stage gets its port. */
async function checkRestart(library: ClientLibrary): Promise<void> {
  const mark = `${library.name} restart`;
  const first = await ingestOn(calls, { handoverMs: 500 });
  await using _second = await ingestOn(calls, { port: first.port });
  const stopped = first[Symbol.asyncDispose]();
  const sent = marked(mark);
  await library.send(`http://127.0.0.1:${first.port}`, KEY, sent);
  await stopped;
  await calls.taker.until(() => withMark(mark).length >= sent.length);
  expect(withMark(mark)).toHaveLength(sent.length);
}

async function checkFinalStates(library: ClientLibrary): Promise<void> {
  const expected = FINAL_STATES[library.name.replace(" with gzip", "")];
  const finalStates = await Promise.all(
    Object.entries(FAILURES).map(async ([name, failures]) => [
      name,
      await finalStateOf(library, failures),
    ]),
  );
  expect(Object.fromEntries(finalStates)).toEqual(expected);
}

describe.each(NPM_LIBRARIES)("$name", (library) => {
  test("every call arrives as it was made", () => checkEachCall(library));
  test("a restart of ingest loses nothing", () => checkRestart(library));
});

// The libraries run concurrently, because some of them wait for half a minute between attempts.
describe.concurrent("what fails is lost or sent again as in the table", () => {
  test.each(NPM_LIBRARIES)("$name", (library) => checkFinalStates(library));

  test.for(PYTHON_LIBRARIES)("$name", async (library, { skip }) => {
    const reason = (await noPython).get(library.requirement);
    if (reason !== undefined) return skip(reason);
    await checkFinalStates(library);
  });
});

describe.each(PYTHON_LIBRARIES)("$name", (library) => {
  test("every call arrives as it was made", async ({ skip }) => {
    const reason = (await noPython).get(library.requirement);
    if (reason !== undefined) return skip(reason);
    await checkEachCall(library);
    await checkRestart(library);
  });
});

test("Segment's library for Java: every call arrives as it was made", async ({ skip }) => {
  const library = await java;
  if (typeof library === "string") return skip(library);
  await checkEachCall(library);
});
