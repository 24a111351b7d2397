// `switchyard replay`: the output, and the exit status.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

import { runProgram } from "../../../../../src/program/cli/program.ts";
import {
  type RunCallReplayOptions,
  runCallReplay,
} from "../../../../../src/program/cli/replay/command.ts";
import { CallReplayWorld, ids, topics } from "../../../../support/worlds/call-replay-world.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-replay-"));
const file = join(folder, "switchyard.yaml");
writeFileSync(
  file,
  `
kafka: { brokers: "127.0.0.1:1" }
sources: [{ id: web, destinations: [crm, off] }]
destinations:
  - { id: crm, type: topic, name: Crm }
  - { id: off, type: topic, name: Off, enabled: false }
  - { id: alone, type: topic, name: Alone }
`,
);
afterAll(() => rmSync(folder, { recursive: true }));

async function usage(...args: readonly string[]) {
  const shell = fakeShell();
  const status = await runProgram(["replay", ...args, "--config", file], shell);
  return { status, said: shell.errors() };
}

test.each([
  [["--since", "2d"], /Name the destination/],
  [["crm"], /--since is required/],
  [["crm", "--since", "1d", "--until", "2d"], /--until must be later than --since/],
  [["crm", "--since", "soon"], /"soon" is not a time\. Expected a time such as/],
  [
    ["crm", "--since", "1d", "--type", "buy"],
    /"buy" is not a call type\. Expected one of identify, track/,
  ],
  [["crm", "--since", "1d", "--per-second", "0"], /"0" is not an integer from 1/],
  [["--resume", "a b"], /"a b" is not the name of a replay/],
  [["crm", "--resume", "x"], /Omit the destination, --since/],
  [["gone", "--since", "1d"], /no destination has the ID "gone"\. Configured: crm, off, alone\./],
  [
    ["off", "--since", "1d"],
    /The destination off is disabled: nothing is routed to it\. Set enabled/,
  ],
  [["alone", "--since", "1d"], /No source has the destination alone in its list/],
  [["crm", "--since", "1d", "--event", "x".repeat(4_000)], /too large to store with the replay/],
])("%j is wrong usage", async (args, says) => {
  const { status, said } = await usage(...args);
  expect(said).toMatch(says);
  expect(status).toBe(2);
});

async function replay(world: CallReplayWorld, given: Partial<RunCallReplayOptions> = {}) {
  const shell = fakeShell();
  const options: RunCallReplayOptions = {
    chosen: { kind: "new", plan: world.plan() },
    config: {
      sources: world.sources,
      defaultSource: null,
      registry: null,
      audit: { enabled: true },
    },
    topics,
    destinationOf: () => world.crm,
    dryRun: false,
    json: false,
    signal: new AbortController().signal,
    resumeArguments: " --config a.yaml",
    clock: world.clock,
    ...given,
  };
  const status = await world.finish(runCallReplay(world.cluster.connect(), options, shell));
  return { status, out: shell.output(), err: shell.errors() };
}

const SOURCE = { sourceId: "web" };

test("a dry run counts, and writes nothing", async () => {
  const world = new CallReplayWorld();
  await world.fill(5, (number) =>
    number === 0 ? { ...SOURCE, integrations: { All: false } } : SOURCE,
  );
  const { status, out, err } = await replay(world, { dryRun: true });
  expect(out).toMatch(
    /CALLS +WERE\n4 +would be written\n1 +skipped: integrations set All to false\n/,
  );
  expect({ status, err }).toEqual({ status: 0, err: "Nothing was written (--dry-run).\n" });
  expect(world.written()).toEqual([]);
});

test("all is written; the outcome says so, also as JSON", async () => {
  const world = new CallReplayWorld();
  await world.fill(5, (number) => (number === 4 ? {} : SOURCE));
  const { status, out, err } = await replay(world, { json: true });
  expect(JSON.parse(out)).toEqual({
    ...{ end: "done", error: null, replay: expect.stringMatching(/^\d{8}-\d{6}-\w{8}$/) },
    ...{ resume: null, destination: "crm", topic: world.topic },
    ...{ since: "1970-01-01T00:00:00.000Z", until: null, types: [], events: [], perSecond: null },
    ...{ written: 4, rejected: 0, skipped: {}, invalid: { "unknown-source": 1 }, filtered: {} },
  });
  expect(status).toBe(0);
  expect(err).toMatch(/^Replay \S+ started\. If it is interrupted/);
  expect(new Set(world.written())).toEqual(new Set(ids(0, 4)));
});

test("an empty range is no error", async () => {
  expect(await replay(new CallReplayWorld())).toMatchObject({
    status: 0,
    out: "This range contains no calls.\n",
  });
});

test("interrupted, it says how to continue, and that continues", async () => {
  const world = new CallReplayWorld();
  await world.fill(600, () => SOURCE);
  const stop = new AbortController();
  const plan = world.plan({ perSecond: 100 });
  const running = replay(world, { chosen: { kind: "new", plan }, signal: stop.signal });
  await world.clock.advanceUntil(() => world.written().length > 50, 60_000);
  stop.abort();
  const { status, err } = await world.finish(running);
  expect(status).toBe(1);
  const name =
    /Interrupted\. Resume with: switchyard replay --resume (\S+) --config a\.yaml\n/.exec(err);
  const chosen = { kind: "resume", name: name?.[1] ?? "", perSecond: 10_000 } as const;
  const dry = await replay(world, { chosen, dryRun: true });
  const left = 600 - world.written().length;
  expect(dry.out).toMatch(new RegExp(`\n${left} +would be written\n`));
  const resumed = await replay(world, { chosen });
  expect(resumed).toMatchObject({ status: 0, out: expect.stringMatching(/\n600 +written\n/) });
  expect(world.written()).toHaveLength(600);
  const again = await replay(world, { chosen });
  expect(again.err).toMatch(/Replay of calls \S+ cannot be resumed/);
  expect(again.status).toBe(2);
});

test("a destination without its topic is an error that says what to do", async () => {
  const world = new CallReplayWorld();
  await world.fill(1);
  const options = { destinationOf: () => ({ ...world.crm, id: "new" as never }) };
  await expect(replay(world, options)).rejects.toThrow(
    "the topic sw.deliveries.new does not exist. Check kafka.topicPrefix, or create what is missing: switchyard topics --apply",
  );
});
