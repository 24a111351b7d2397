// `switchyard status` is correct for destinations that fail in every possible way, with the program as a child process
// on a real Kafka.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import type { ProcessStatus } from "../../src/domain/process-status.ts";
import type { DestinationReport, StatusReport } from "../../src/operator/look/status-report.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { BROKERS, useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { configOf, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const lifetime = untilFileEnds();
const { prefix } = useKafka("status", { lifetime });
const admin = `127.0.0.1:${await freePort()}`;
const gone = `127.0.0.1:${await freePort()}`;

/**
 * The response depends on the path: `/503`, `/200`, `/later`, which sends `Retry-After` with an hour, or `/flaky`,
 * which accepts one of three requests.
 */
const hooks = await useReceiver(({ path, earlier }) => {
  if (path === "/later") return { status: 503, headers: { "retry-after": "3600" } };
  return path === "/flaky" ? (earlier % 3 === 2 ? 200 : 503) : Number(path.slice(1));
}, lifetime);
const receiver = hooks.url;

const to = (...urls: readonly string[]) => ({
  messageIdHeader: false,
  endpoints: urls.map((url) => ({ url })),
});

/** Nothing is retried for ten minutes, so the state must be known from earlier attempts. */
const configOn = (brokers: readonly string[], retryWindow = "4h") =>
  configOf({
    kafka: { brokers, topicPrefix: prefix, partitions: 2 },
    destinations: {
      fine: { ...to(`${receiver}/200`), name: "Webhooks" },
      fails: { ...to(`${receiver}/503`), name: "Fails" },
      later: { ...to(`${receiver}/later`), name: "Later" },
      dead: { ...to(`http://${gone}/`), name: "Dead" },
      pair: { ...to(`http://${gone}/x`, `${receiver}/200`), name: "Pair" },
      off: { ...to(`${receiver}/200`), name: "Off", enabled: false },
      flaky: { ...to(`${receiver}/flaky`), name: "Flaky" },
    },
    delivery: { retryDelays: ["10m"], retryWindow },
    admin: { port: Number(admin.split(":")[1]) },
  });

const world = useProgram(configOn(BROKERS), lifetime);

let published = 0;

async function publish(count: number, integrations: Record<string, boolean>): Promise<void> {
  const file = join(world.directory, `calls-${published}.json`);
  const calls = Array.from({ length: count }, () => {
    published += 1;
    return JSON.stringify({ type: "track", event: "e", userId: `u-${published}`, integrations });
  });
  writeFileSync(file, calls.join("\n"));
  expect(await world.inProcess(["publish", file])).toMatchObject({ status: 0 });
}

async function status(args: readonly string[] = []) {
  const command = ["status", "--json", "--admin", admin, ...args];
  const { status: exit, out, err } = await world.inProcess(command);
  return { exit, err, report: JSON.parse(out) as StatusReport };
}

/** Runs the command until the process has responded, because a busy machine may need more than the limit of 3 s. */
async function heard(args: readonly string[] = [], wanted = 0) {
  let last: Awaited<ReturnType<typeof status>> | undefined;
  const isHeard = async () => {
    last = await status(args);
    return [last.exit, last.report.processes[0]?.error];
  };
  await expect.poll(isHeard).toEqual([wanted, null]);
  if (last === undefined) throw new Error("there is no report");
  return last;
}

async function of(destination: string): Promise<DestinationReport | undefined> {
  const { report } = await status(["--destination", destination]);
  return report.destinations[0];
}

beforeAll(async () => {
  await world.ready("route,deliver,delay");
  await publish(1, {});
});

test("between two attempts a failing destination is shown with its last outcome", async () => {
  await expect
    .poll(() => of("fails"))
    .toMatchObject({
      state: "failing",
      failingSince: expect.any(String),
      failedShare: 1,
      lastAcceptedAt: null,
      last: { outcome: "retry", cause: "503", endpoint: `fails[1] ${new URL(receiver).host}` },
      waiting: 0,
      awaitingRetry: 1,
      byDelay: { "10m": 1 },
      hold: null,
    });
  const next = async () => Date.parse((await of("fails"))?.nextAttemptAt ?? "");
  await expect.poll(next).toBeGreaterThan(Date.now());
  await expect
    .poll(() => of("fine"))
    .toMatchObject({
      state: "delivering",
      failingSince: null,
      last: { outcome: "accepted", cause: "200" },
    });
});

test("one that sent Retry-After is on hold until then", async () => {
  await expect
    .poll(() => of("later"))
    .toMatchObject({
      state: "on-hold",
      hold: { reason: "retry-after", since: expect.any(String), until: expect.any(String) },
      failingSince: expect.any(String),
    });
});

test("one that is down is on hold by its circuit, also through probes", async () => {
  const holdReason = async () => {
    await publish(30, { All: false, Dead: true });
    return (await of("dead"))?.hold?.reason;
  };
  await expect.poll(holdReason).toBe("circuit-open");
  await publish(10, { All: false, Dead: true });
  await expect.poll(async () => (await of("dead"))?.waiting).toBeGreaterThan(0);
  let first: DestinationReport | undefined;
  const seen = async () => {
    first = await of("dead");
    return first;
  };
  await expect.poll(seen).toMatchObject({
    state: "on-hold",
    last: { cause: "refused" },
    nextAttemptAt: expect.any(String),
    endpoints: [{ circuit: expect.stringMatching(/^(open|half-open)$/) }],
  });
  // The next probe fails, so the hold continues.
  const probed = async () => {
    const { last, hold } = (await of("dead")) ?? {};
    return { isProbed: last?.at !== undefined && last.at !== first?.last?.at, since: hold?.since };
  };
  await expect.poll(probed).toEqual({ isProbed: true, since: first?.hold?.since });
});

test("of two endpoints one accepts: the destination delivers, and the other one shows", async () => {
  await expect
    .poll(() => of("pair"))
    .toMatchObject({
      state: "delivering",
      failingSince: null,
      last: { outcome: "accepted", cause: "200" },
      endpoints: [
        { name: `pair[1] ${gone}`, failingSince: expect.any(String), last: { cause: "refused" } },
        { name: `pair[2] ${new URL(receiver).host}`, failingSince: null, last: { cause: "200" } },
      ],
    });
});

test("one that fails two of three attempts is failing all the time, with their share", async () => {
  const states: string[] = [];
  const look = async () => {
    const response = await fetch(`http://${admin}/status`);
    const { destinations } = (await response.json()) as ProcessStatus;
    const found = destinations.find(({ id }) => id === "flaky");
    if (found !== undefined && found.state !== states.at(-1)) states.push(found.state);
    return hooks.at("/flaky").length;
  };
  for (let round = 1; round <= 4; round += 1) {
    await publish(15, { All: false, Flaky: true });
    await expect.poll(look, { interval: 20 }).toBeGreaterThanOrEqual(15 * round);
  }
  expect(states.filter((state) => state !== "idle")).toEqual(["failing"]);
  const report = await of("flaky");
  expect(report?.failedShare).toBeCloseTo(2 / 3, 1);
  const { out } = await world.inProcess(["status", "--admin", admin, "--destination", "flaky"]);
  expect(out).toMatch(/failing since \S+: 6[5-9] % of attempts in the last minute$/m);
});

test("those with problems come first; a disabled one is explained, also in tables", async () => {
  const { report } = await heard();
  const ids = report.destinations.map(({ destination }) => destination);
  expect(ids.slice(-2)).toEqual(["off", "fine"]);
  const off = report.destinations.find(({ destination }) => destination === "off");
  expect(off).toMatchObject({
    state: "on-hold",
    hold: { reason: "disabled", since: expect.any(String) },
    note: expect.stringContaining("new calls are not written to it"),
  });
  expect(report.processes).toMatchObject([
    { admin, error: null, version: expect.any(String), configHash: report.configHash },
  ]);
  const stages = report.processes[0]?.stages;
  expect(stages?.map(({ name }) => name)).toEqual(["route", "deliver", "delay"]);
  expect(stages?.[0]?.partitions).toEqual({ [`${prefix}calls`]: [0, 1] });
  const text = async () => (await world.inProcess(["status", "--admin", admin, "--failing"])).out;
  await expect
    .poll(text)
    .toMatch(/^fails +0 .* 503 .* failing since \d\d:\d\d:\d\d(: 100 % of .*)?$/m);
  await expect.poll(text).not.toMatch(/^fine /m);
  await expect.poll(text).toMatch(/^dead\[1\] 127\.0\.0\.1:\d+ +1 +(open|half-open) /m);
});

test("a destination shows how many calls it did not get, by reason", async () => {
  const { report } = await heard(["--destination", "fine"]);
  expect(report.destinations[0]?.skipped).toEqual({ "all-false": expect.any(Number) });
  const { out } = await world.inProcess(["status", "--admin", admin, "--destination", "fine"]);
  expect(out).toMatch(
    /^SKIPPED CALLS +COUNT +REASON\nall-false +\d+ +integrations exclude All and do not name it$/m,
  );
});

test("a process that cannot be reached fails the command, and the rest is shown", async () => {
  const { report } = await heard(["--admin", gone], 1);
  expect(report.processes).toMatchObject([
    { admin, error: null },
    { admin: gone, error: "ECONNREFUSED" },
  ]);
  expect(report.destinations.find(({ destination }) => destination === "fails")?.state).toBe(
    "failing",
  );
});

test("a process that runs another configuration than the file is named", async () => {
  const other = useProgram(configOn(BROKERS, "2h"));
  const out = async () => (await other.inProcess(["status", "--admin", admin])).out;
  await expect
    .poll(out)
    .toMatch(
      new RegExp(`^${admin} runs configuration [0-9a-f]{12}, but the file is [0-9a-f]{12}: `, "m"),
    );
});

test("with Kafka unreachable it prints what the processes report, and fails", async () => {
  const unreachable = useProgram(configOn([gone]));
  const args = ["status", "--admin", admin, "--kafka-timeout", "1s"];
  await expect
    .poll(() => unreachable.inProcess(args))
    .toMatchObject({ status: 1, out: expect.stringMatching(/^fails +- .* failing since /m) });
  const { out } = await unreachable.inProcess(args);
  expect(out).toContain("Kafka is unreachable: ");
  const alone = await unreachable.inProcess(["status", "--kafka-timeout", "1s"]);
  expect(alone).toMatchObject({ status: 1, out: "" });
});

test("an unknown destination is a wrong use, with the name that was meant", async () => {
  expect(await world.inProcess(["status", "--destination", "fail"])).toEqual({
    status: 2,
    out: "",
    err: expect.stringContaining("Did you mean fails?\nHelp: switchyard status --help\n"),
  });
});
