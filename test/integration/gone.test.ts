// Endpoints that respond 410, on a real Kafka with two processes: all processes stop requests, also after both were
// killed; the others of a destination get everything; resume and another URL end it, and the queue keeps its order.

import { renameSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { configOf, type UsedProcess, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const STAGES = "route,deliver,delay";
const USERS = 7;
const CALLS = 60;
/** The first endpoint of each destination responds 410 while this says so. */
const FIRST = ["/alone", "/batched", "/moved", "/any-1", "/every-1"];

interface Status {
  readonly destinations: readonly {
    readonly id: string;
    readonly state: string;
    readonly hold: { readonly reason: string } | null;
    readonly endpoints: readonly { readonly unavailable: { readonly reason: string } | null }[];
  }[];
}

async function startWorld() {
  const goneFrom = new Map<string, number>();
  const receiver = await useReceiver(({ path, atMs }) => {
    return { status: atMs >= (goneFrom.get(path) ?? Number.POSITIVE_INFINITY) ? 410 : 200 };
  });
  const own = useKafka("gone");
  const to = (...paths: string[]) => ({
    endpoints: paths.map((path) => ({ url: `${receiver.url}/${path}` })),
  });
  const configOfMoved = (moved: string) =>
    configOf({
      kafka: { brokers: own.brokers, topicPrefix: own.prefix, partitions: 4 },
      destinations: {
        alone: to("alone"),
        batched: { ...to("batched"), batch: { calls: 5, wait: "50ms" } },
        moved: to(moved),
        any: to("any-1", "any-2"),
        every: { ...to("every-1", "every-2"), deliver: "every" },
      },
      operatorEvents: { enabled: true },
    });
  const world = useProgram(configOfMoved("moved"));
  return {
    ...{ ...own, receiver, world, goneFrom },
    move: () => {
      writeFileSync(`${world.file}.tmp`, configOfMoved("new"));
      renameSync(`${world.file}.tmp`, world.file);
    },
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

/** IDs of the destinations of which the process says that the first endpoint is gone. */
async function goneFor(program: UsedProcess): Promise<readonly string[]> {
  const { destinations } = JSON.parse(await program.get("/status")) as Status;
  return destinations
    .filter(({ endpoints }) => endpoints[0]?.unavailable?.reason === "gone")
    .map(({ id }) => id)
    .toSorted();
}

const ALL = ["alone", "any", "batched", "every", "moved"];

function countsOf({ receiver }: World): readonly number[] {
  return FIRST.map((path) => receiver.at(path).length);
}

function callsAt({ receiver }: World, path: string): readonly string[] {
  return receiver.accepted(path).flatMap(({ id }) => id.split(","));
}

/** The dead letters of a destination: message IDs, with those of repeated deliveries, and the reasons. */
async function deadLettersOf({ world }: World, destination: string) {
  const args = ["dead-letters", "list", "--destination", destination, "--json", "--limit", "1000"];
  const { out } = await world.inProcess(args);
  const all = out.trim().split("\n").filter(Boolean);
  const read = all.map((line) => JSON.parse(line) as { messageId: string; reason: string });
  return {
    ids: read.map(({ messageId }) => messageId),
    reasons: new Set(read.map(({ reason }) => reason)),
  };
}

/** How many calls of a destination were accepted at one of the paths, or are dead letters. */
async function settledOf(world: World, destination: string, ...paths: string[]): Promise<number> {
  const { ids } = await deadLettersOf(world, destination);
  return new Set([...ids, ...paths.flatMap((path) => callsAt(world, path))]).size;
}

/** The operator events about endpoints that are gone: kinds and destinations. */
async function eventsOf({ recordsIn }: World): Promise<readonly string[]> {
  const events = (await recordsIn("operator-events")).map(({ value }) => {
    const { type, subject } = JSON.parse(`${value}`) as { type: string; subject: string };
    return `${type.replace("switchyard.destination.", "")} ${subject}`;
  });
  return [...new Set(events)].filter((event) => event.startsWith("endpoints_")).toSorted();
}

/** The calls of each user arrived in the order of their numbers. Processes that were killed have repeated some of them. */
function expectOrder(ids: readonly string[]): void {
  const numbers = [...new Set(ids)].map((id) => Number(id.slice(1)));
  for (let user = 0; user < USERS; user += 1) {
    const own = numbers.filter((number) => number % USERS === user);
    expect(own).toEqual(own.toSorted((one, other) => one - other));
  }
}

test("no process sends requests to what is gone, also after both were killed; resume and another URL end it", async () => {
  const started = await startWorld();
  const { receiver, world, goneFrom, publish, move } = started;
  const first = [await world.ready(STAGES), await world.ready(STAGES)];
  const all = [...(await publish(CALLS, { users: USERS }))];
  for (const path of FIRST) await expect.poll(() => callsAt(started, path).length).toBe(CALLS);

  for (const path of FIRST) goneFrom.set(path, Date.now());
  all.push(...(await publish(CALLS, { users: USERS })));
  for (const program of first) await expect.poll(() => goneFor(program)).toEqual(ALL);
  const counts = countsOf(started);
  all.push(...(await publish(CALLS, { users: USERS })));
  await expect.poll(() => new Set(callsAt(started, "/every-2")).size).toBe(all.length);
  const anyIds = () => new Set([...callsAt(started, "/any-1"), ...callsAt(started, "/any-2")]);
  await expect.poll(() => anyIds().size).toBe(all.length);
  expect(countsOf(started)).toEqual(counts);
  const three = ["alone", "batched", "moved"];
  const reported = (kind: string) => three.map((id) => `${kind} ${id}`);
  await expect.poll(() => eventsOf(started)).toEqual(reported("endpoints_gone"));

  await Promise.all(first.map((program) => program.kill()));
  // Processes that were killed repeat what they had not committed.
  all.push(...(await publish(CALLS, { users: USERS })));
  const second = [await world.ready(STAGES), await world.ready(STAGES)];
  for (const program of second) await expect.poll(() => goneFor(program)).toEqual(ALL);
  await expect.poll(() => new Set(callsAt(started, "/every-2")).size).toBe(all.length);
  await expect.poll(() => anyIds().size).toBe(all.length);
  expect(countsOf(started)).toEqual(counts);

  // With `every`, each call that the first endpoint did not accept is a dead letter.
  await expect.poll(() => settledOf(started, "every", "/every-1")).toBe(all.length);

  for (const path of FIRST) goneFrom.delete(path);
  const resumed = await world.inProcess(["resume", "alone"]);
  expect(resumed.out).toMatch(
    /^Resumed: alone\. These endpoints had responded 410, and get requests again: alone\[1\] 127\.0\.0\.1:\d+\.\n$/,
  );
  await world.inProcess(["resume", "batched"]);
  for (const id of ["alone", "batched"]) {
    await expect.poll(() => settledOf(started, id, `/${id}`)).toBe(all.length);
    expectOrder(callsAt(started, `/${id}`));
    const { ids, reasons } = await deadLettersOf(started, id);
    expect(reasons).toEqual(new Set(["rejected"]));
    // Only those that were in flight.
    expect(ids.length).toBeLessThan(CALLS);
  }

  expect(receiver.at("/moved").length).toBe(counts[FIRST.indexOf("/moved")]);
  move();
  for (const program of second) program.child.kill("SIGHUP");
  await expect.poll(() => settledOf(started, "moved", "/moved", "/new")).toBe(all.length);
  expectOrder([...callsAt(started, "/moved"), ...callsAt(started, "/new")]);
  expect(receiver.at("/moved").length).toBe(counts[FIRST.indexOf("/moved")]);
  for (const program of second) await expect.poll(() => goneFor(program)).toEqual(["any", "every"]);
  const both = [...reported("endpoints_available"), ...reported("endpoints_gone")];
  await expect.poll(() => eventsOf(started)).toEqual(both);
});
