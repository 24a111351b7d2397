// `switchyard timeline` and the topic of attempts, with the real program on a real Kafka: one call to three
// destinations, one of which fails first and one of which rejects it, shown with and without attempts.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { parseAttemptRecord } from "../../src/domain/attempt-record.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { type UsedProgram, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

/**
 * Starts the program, and a receiver: `/fine` accepts everything, `/flaky` fails the first request of each call, and
 * `/bad` accepts nothing.
 */
async function startWorld(attempts: object, createTopics = true) {
  const ledger: { path: string; messageId: string; status: number }[] = [];
  const { url } = await useReceiver(({ path, id, earlier }) => {
    const status = path === "/bad" ? 422 : path === "/flaky" && earlier === 0 ? 503 : 200;
    ledger.push({ path, messageId: decodeURIComponent(id), status });
    return { status, body: `no\u001b[2J ${status}` };
  });
  const own = useKafka("trace");
  const { prefix, brokers } = own;
  const world = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions: 3, createTopics },
    destinations: {
      ...Object.fromEntries(["fine", "flaky", "bad"].map((id) => [id, `${url}/${id}`])),
      off: { type: "topic", name: "Off", enabled: false },
    },
    delivery: { retryDelays: ["1s"] },
    attempts,
  });
  if (!createTopics) await world.inProcess(["topics", "--apply"]);
  const program = await world.ready("route,deliver,delay");
  return { ...own, ledger, world, program };
}

async function publish(world: UsedProgram, calls: readonly object[]): Promise<void> {
  const file = join(world.directory, "calls.json");
  writeFileSync(file, calls.map((call) => JSON.stringify(call)).join("\n"));
  expect(await world.inProcess(["publish", file])).toMatchObject({ status: 0 });
}

function track(messageId: string) {
  return { type: "track", event: "Order", userId: `user of ${messageId}`, messageId };
}

type TraceLine = Readonly<Record<string, unknown>>;

async function traced(world: UsedProgram, messageId: string): Promise<readonly TraceLine[]> {
  const { status, out, err } = await world.inProcess([
    "timeline",
    messageId,
    "--json",
    "--since",
    "1h",
  ]);
  expect(status).toBe(0);
  // On a busy machine, the command prints its progress.
  expect(err.replaceAll(/^[\d,]+ records? read .*\n/gm, "")).toBe("");
  return out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as TraceLine);
}

function story(lines: readonly TraceLine[], destination: string): readonly unknown[] {
  return lines.filter((line) => line.destination === destination).map((line) => line.kind);
}

test("with the topic of attempts: the whole story, and the receiver's ledger", async () => {
  const ids = ["m-one", 'odd/"é\u202e\u0007'];
  const { ledger, world, recordsIn } = await startWorld({ enabled: true, responseBytes: "8B" });
  await publish(world, ids.map(track));
  const done = 4 * ids.length;
  await expect.poll(() => ledger.length).toBe(done);
  await expect.poll(async () => (await recordsIn("attempts")).length).toBe(done);

  const records = (await recordsIn("attempts")).map(({ key, value }) => {
    const record = parseAttemptRecord(value);
    expect(record?.messageId).toBe(key?.toString());
    return record;
  });
  const said = records.map((record) => {
    const [request] = record?.requests ?? [];
    return [record?.destination, record?.messageId, request?.status];
  });
  const seen = ledger.map(({ path, messageId, status }) => [path.slice(1), messageId, status]);
  expect(said.toSorted()).toEqual(seen.toSorted());

  for (const id of ids) {
    // The attempt may be shown before its dead letter.
    const ofBad = async () => story(await traced(world, id), "bad");
    await expect.poll(ofBad).toEqual(["routed", "attempt", "dead-lettered", "final-state"]);
    const lines = await traced(world, id);
    expect(lines[0]).toMatchObject({ kind: "received", event: "Order", source: "web" });
    expect(story(lines, "off")).toEqual(["skipped"]);
    expect(story(lines, "fine")).toEqual(["routed", "attempt", "final-state"]);
    expect(story(lines, "flaky")).toEqual([
      ...["routed", "attempt", "retry-scheduled", "returned", "attempt", "final-state"],
    ]);
    const finalStates = lines.filter(({ kind }) => kind === "final-state");
    expect(
      Object.fromEntries(
        finalStates.map((finalState) => [finalState.destination, finalState.finalState]),
      ),
    ).toEqual({ ...{ fine: "accepted", flaky: "accepted", bad: "dead-lettered" } });
    expect(lines.filter(({ kind }) => kind === "gap")).toEqual([]);
    const refused = lines.find((line) => line.kind === "attempt" && line.destination === "bad");
    expect(refused).toMatchObject({
      decision: "rejected",
      requests: [{ status: 422, response: "no\u001b[2J 4", outcome: "rejected" }],
    });
    const times = lines.flatMap(({ kind, at }) =>
      kind === "final-state" || kind === "gap" ? [] : String(at),
    );
    expect(times).toEqual(times.toSorted());
  }
});

test("without it: what other topics show, and what is unknown", async () => {
  const { ledger, prefix, world, kafka } = await startWorld({ enabled: false });
  await publish(world, [track("m-two"), { type: "track", event: "No id", userId: "u" }]);
  await expect.poll(() => ledger.length).toBe(8);
  expect(await kafka.admin.topics()).not.toContain(`${prefix}attempts`);
  const finalStates = async (id: string) => {
    const lines = await traced(world, id);
    return Object.fromEntries(
      lines.flatMap((line) =>
        line.kind === "final-state" ? [[line.destination, line.finalState]] : [],
      ),
    );
  };
  // The deliveries are known to be finished only after the queues' offsets are committed.
  await expect
    .poll(() => finalStates("m-two"))
    .toEqual({ fine: "finished", flaky: "finished", bad: "dead-lettered" });
  const lines = await traced(world, "m-two");
  expect(story(lines, "flaky")).toEqual([
    "routed",
    "attempt",
    "retry-scheduled",
    "returned",
    "final-state",
  ]);
  expect(
    lines.find((line) => line.kind === "attempt" && line.destination === "flaky"),
  ).toMatchObject({
    ...{ attempt: 1, from: "headers", decision: "retry" },
    requests: [{ status: 503 }],
  });
  expect(lines.at(-1)).toMatchObject({ kind: "gap", gap: "no-attempts-topic" });

  const nameless = ledger.find(({ messageId }) => messageId.startsWith(`${prefix}calls/`));
  await expect
    .poll(() => finalStates(nameless?.messageId ?? ""))
    .toMatchObject({ bad: "dead-lettered" });

  const text = await world.inProcess(["timeline", "m-two"]);
  expect(text.status).toBe(0);
  expect(text.out).toContain("bad[1] 127.0.0.1:");
  expect(text.out).not.toContain("user of");
  const nothing = await world.inProcess(["timeline", "m-\u001b[2Jnever"]);
  expect(nothing).toMatchObject({ status: 1, out: "" });
  expect(nothing.err).toContain("was not found in");
  expect(nothing.err).not.toContain("\u001b");
  expect(await world.inProcess(["timeline", "m-two", "--since", "soon"])).toMatchObject({
    status: 2,
  });
});

test("when the topic of attempts is deleted, deliveries continue and it is recreated", async () => {
  const { ledger, prefix, world, kafka, program, recordsIn } = await startWorld({ enabled: true });
  await publish(world, [track("m-before")]);
  await expect.poll(() => ledger.length).toBe(4);
  await kafka.admin.deleteTopics([`${prefix}attempts`]);
  await publish(world, [track("m-meanwhile")]);
  await expect.poll(() => ledger.length).toBe(8);
  let number = 0;
  const again = async () => {
    number += 1;
    await publish(world, [track(`m-after-${number}`)]);
    const topics = await kafka.admin.topics();
    if (!topics.includes(`${prefix}attempts`)) return [];
    const keys = await recordsIn("attempts").catch(() => []);
    return keys.map(({ key }) => key?.toString());
  };
  await expect.poll(again, { interval: 1_000 }).toContainEqual(expect.stringMatching("m-after-"));
  expect(program.lines.filter(({ msg }) => msg === "destination.consumer-restarting")).toEqual([]);
});

test("when it is recreated with fewer partitions during attempts, each is written or counted, and none waits", async () => {
  // Nothing else creates the topic.
  const opened = await startWorld({ enabled: true }, false);
  const { ledger, prefix, world, kafka, recordsIn, write, program } = opened;
  const attempts = `${prefix}attempts`;
  let calls = 0;
  const send = () =>
    write(
      "calls",
      Array.from({ length: 20 }, () => ({ value: track(`m-${calls++}`) })),
    );
  const countOf = async (outcome: string) =>
    (await program.sample(`switchyard_attempt_records_total{outcome="${outcome}"} `)) || 0;
  const sendUntil = (isSo: () => Promise<boolean>) => {
    const look = async () => {
      await send();
      return isSo();
    };
    return expect.poll(look).toBe(true);
  };
  await sendUntil(async () => (await countOf("written")) > 0);
  await kafka.admin.deleteTopics([attempts]);
  await sendUntil(async () => !(await kafka.admin.topics()).includes(attempts));
  await createTopics(kafka, [attempts]);
  await sendUntil(async () => (await recordsIn("attempts")).length > 0);
  // On a busy machine, some may be repeated after a rebalance.
  const different = () => new Set(ledger.map((each) => Object.values(each).join(" "))).size;
  await expect.poll(different).toBe(4 * calls);
  const reported = async () => (await countOf("written")) + (await countOf("dropped"));
  const unreported = async () => ledger.length - (await reported());
  await expect.poll(unreported).toBe(0);
  await publish(world, [track("m-last")]);
  await expect
    .poll(async () => story(await traced(world, "m-last"), "flaky"))
    .toEqual([...["routed", "attempt", "retry-scheduled", "returned", "attempt", "final-state"]]);
});
