// The table of reload.ts, row by row, with topics and stages that a test controls.

import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { Config } from "../../../../src/config/config.ts";
import { configHash } from "../../../../src/config/hash.ts";
import type { Loaded } from "../../../../src/config/load.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import type { Lacking } from "../../../../src/program/run/apply-config.ts";
import { heldBack, Reloader } from "../../../../src/program/run/reload.ts";
import { config } from "../../../support/build/config-source.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";

const yaml = (ids: readonly string[], more = "") => `
kafka: { brokers: [kafka-1:9092] }
sources: [{ id: web, destinations: [${ids.join(", ")}] }]
destinations:${ids.length === 0 ? " []" : ""}
${ids.map((id) => `  - { id: ${id}, type: topic, name: ${id} }`).join("\n")}
${more}
`;

function loaded(text: string): Loaded {
  const read = config(text);
  const given = { tree: {}, origins: new Map() };
  const hash = configHash(read);
  return {
    kind: "config",
    config: read,
    hash,
    given,
    warnings: [],
    reminders: [],
    files: ["/etc/a.yaml"],
  };
}

const BROKEN: Loaded = {
  kind: "invalid",
  files: ["/etc/a.yaml"],
  problems: [
    {
      path: ["destinations", 0, "id"],
      found: "nothing",
      expected: "an id",
      hint: null,
      line: 4,
      file: null,
    },
    { path: ["kafka"], found: "nothing", expected: "a map", hint: null, line: null, file: null },
  ],
};

function world(started: string) {
  const clock = new ManualClock();
  const metrics = createMetrics();
  const { log, lines } = parsedLog();
  const first = loaded(started);
  if (first.kind !== "config") throw new Error("it cannot be used");
  const state = {
    file: first as Loaded,
    lacking: { waiting: new Map(), error: null } as Lacking,
    makes: 0,
    breaks: false,
    gate: Promise.resolve(),
  };
  const taken: (readonly string[])[] = [];
  const followed: (readonly string[])[] = [];
  const reloader = new Reloader(
    {
      ...{ clock, metrics, log },
      load: () => state.file,
      follow: (files) => followed.push(files),
      makeTopics: async () => {
        state.makes += 1;
        await state.gate;
        return state.lacking;
      },
      takeOver: (_running: Config, next: Config) => {
        if (state.breaks) throw new Error("a stage does not take it");
        taken.push(next.destinations.map(({ id }) => id));
        return () => Promise.resolve();
      },
    },
    first,
  );
  const sample = async (start: string) =>
    (await metrics.text())
      .split("\n")
      .find((line) => line.startsWith(`${start} `))
      ?.split(" ")[1];
  const counts = async () =>
    Object.fromEntries(
      [...(await metrics.text()).matchAll(/reloads_total{outcome="(\w+)"} (\d+)/g)].map(
        ([, outcome = "", count]) => [outcome, Number(count)],
      ),
    );
  const said = () => lines.map(({ msg }) => msg);
  return { reloader, state, taken, followed, clock, metrics, lines, said, sample, counts, first };
}

const hashIn = async (metrics: ReturnType<typeof createMetrics>) =>
  [...(await metrics.text()).matchAll(/config_info{hash="(\w+)"} 1/g)].map(([, hash]) => hash);

test("it begins with the hash of the start, and nothing counted", async () => {
  const { metrics, counts, first } = world(yaml(["a"]));
  expect(await hashIn(metrics)).toEqual([first.hash]);
  expect(await counts()).toEqual({ applied: 0, unchanged: 0, invalid: 0, failed: 0 });
});

test("a change is applied, named by ids and paths, and its hash shown alone", async () => {
  const { reloader, state, taken, metrics, lines, counts } = world(yaml(["a", "b"]));
  const next = loaded(yaml(["b", "c"]));
  state.file = next;
  const hash = next.kind === "config" ? next.hash : "";
  expect(await reloader.reload("file")).toEqual({
    ...{ outcome: "applied", hash, problems: [], needsRestart: [], waiting: [] },
  });
  expect(taken).toEqual([["b", "c"]]);
  expect(await hashIn(metrics)).toEqual([hash]);
  expect(lines).toMatchObject([
    {
      msg: "config.applied",
      cause: "file",
      hash,
      destinations: { added: ["c"], removed: ["a"] },
      sources: { changed: [{ id: "web", settings: ["destinations"] }] },
    },
  ]);
  expect(await counts()).toMatchObject({ applied: 1 });
});

test("the same content is unchanged, and the look after the start is not counted", async () => {
  const { reloader, taken, said, counts } = world(yaml(["a"]));
  expect(await reloader.reload("start")).toMatchObject({ outcome: "unchanged" });
  expect(await counts()).toMatchObject({ unchanged: 0 });
  expect(await reloader.reload("SIGHUP")).toMatchObject({ outcome: "unchanged" });
  expect(await counts()).toMatchObject({ unchanged: 1 });
  expect(taken).toEqual([]);
  expect(said()).toEqual([]);
});

test("an invalid one changes nothing, and is reported with all problems until one can be used", async () => {
  const { reloader, state, taken, lines, counts, sample, clock } = world(yaml(["a"]));
  const beganAtMs = clock.nowMs();
  state.file = BROKEN;
  const problems = [
    "destinations[0].id (line 4): found nothing, expected an id",
    "kafka: found nothing, expected a map",
  ];
  expect(await reloader.reload("file")).toMatchObject({ outcome: "invalid", problems });
  const since = new Date(beganAtMs).toISOString();
  expect(lines).toMatchObject([{ level: "error", msg: "config.invalid", problems, since }]);
  await clock.advance(60_000);
  await reloader.reload("file");
  expect(reloader.healthProblems()).toEqual([
    `the configuration file has been invalid since ${since}, and the process still uses the previous one: ${problems[0]} (and 1 more)`,
  ]);
  const gauge = "switchyard_config_invalid_since_timestamp_seconds";
  expect(await sample(gauge)).toBe(`${beganAtMs / 1_000}`);
  expect(taken).toEqual([]);
  state.file = loaded(yaml(["b"]));
  await reloader.reload("file");
  expect(await sample(gauge)).toBe("0");
  expect(reloader.healthProblems()).toEqual([]);
  expect(taken).toEqual([["b"]]);
  expect(await counts()).toEqual({ applied: 1, unchanged: 0, invalid: 2, failed: 0 });
});

test("each problem with the file that was logged is logged once more when it is over", async () => {
  const { reloader, state, lines, said } = world(yaml(["a"]));
  const over = async (file: Loaded, lacking: Lacking["waiting"], breaks = false) => {
    const earlier = said().filter((msg) => msg === "config.valid").length;
    const good = { file: loaded(yaml(["a"])), lacking: { waiting: new Map(), error: null } };
    Object.assign(state, { file, breaks, lacking: { waiting: lacking, error: null } });
    await reloader.reload("file");
    const reported = said()
      .filter((msg) => msg !== "config.valid")
      .at(-1);
    Object.assign(state, { ...good, breaks: false });
    await reloader.reload("file");
    await reloader.reload("file");
    const resolved = lines.filter(({ msg }) => msg === "config.valid").map((line) => line.resolved);
    return [reported, resolved.slice(earlier)];
  };
  const none = new Map();
  const missing = new Map([["new" as DestinationId, ["deliveries.new"]]]);
  const restart = loaded(yaml(["a"], "delivery: { retryWindow: 1h }\n"));
  const doubtful = { ...loaded(yaml(["a"])), warnings: ["sources[0]: a likely mistake"] } as Loaded;
  const cases = [
    ["config.invalid", BROKEN, none],
    ["config.needs-restart", restart, none],
    ["config.warnings", doubtful, none],
    ["config.waiting-for-topics", loaded(yaml(["a", "new"])), missing],
    ["config.apply-failed", loaded(yaml(["b"])), none, true],
  ] as const;
  for (const [line, file, lacking, breaks] of cases) {
    expect(await over(file, lacking, breaks)).toEqual([line, [line]]);
  }
});

test("settings that need a restart are reported once, and the rest is applied", async () => {
  const { reloader, state, taken, lines, metrics, sample } = world(yaml(["a"]));
  state.file = loaded(yaml(["a"], "delivery: { retryWindow: 1h }\n"));
  expect(await reloader.reload("file")).toMatchObject({
    outcome: "unchanged",
    needsRestart: ["delivery.retryWindow"],
  });
  const mixed = loaded(yaml(["b"], "delivery: { retryWindow: 1h }\n"));
  state.file = mixed;
  expect(await reloader.reload("file")).toMatchObject({ outcome: "applied" });
  expect(taken).toEqual([["b"]]);
  expect(lines.filter(({ msg }) => msg === "config.needs-restart")).toMatchObject([
    { level: "warn", settings: ["delivery.retryWindow"] },
  ]);
  expect(reloader.healthProblems()).toEqual([
    "these settings of the file apply after a restart: delivery.retryWindow",
  ]);
  expect(await sample("switchyard_config_settings_pending_restart")).toBe("1");
  // The current configuration is in no file.
  expect(await hashIn(metrics)).toEqual([configHash(config(yaml(["b"])))]);
  state.file = loaded(yaml(["b"]));
  await reloader.reload("file");
  expect(reloader.healthProblems()).toEqual([]);
});

test("a destination that waits for its topics is looked at every 2 s; the rest is applied", async () => {
  const { reloader, state, taken, clock, lines, counts, sample } = world(yaml(["a"]));
  state.file = loaded(yaml(["b", "new"]));
  const waiting = new Map([["new" as DestinationId, ["deliveries.new"]]]);
  state.lacking = { waiting, error: null };
  expect(await reloader.reload("file")).toMatchObject({ outcome: "applied", waiting: ["new"] });
  expect(taken).toEqual([["b"]]);
  await clock.advance(6_500);
  expect(state.makes).toBe(4);
  expect(await sample("switchyard_config_destinations_pending_topics")).toBe("1");
  expect(lines.filter(({ msg }) => msg === "config.waiting-for-topics")).toMatchObject([
    { destinations: ["new"], topics: ["deliveries.new"], fix: "switchyard topics --apply" },
  ]);
  expect(reloader.healthProblems()).toEqual([
    "destination new waits for deliveries.new (switchyard topics --apply)",
  ]);
  state.lacking = { waiting: new Map(), error: null };
  await clock.advance(2_500);
  expect(taken).toEqual([["b"], ["b", "new"]]);
  expect(reloader.healthProblems()).toEqual([]);
  expect(await counts()).toEqual({ applied: 2, unchanged: 0, invalid: 0, failed: 0 });
  await clock.advance(60_000);
  expect(state.makes).toBe(5);
});

test("a file that is changed while a destination waits is read, not only its topics looked for", async () => {
  const { reloader, state, taken, clock } = world(yaml(["a"]));
  state.file = loaded(yaml(["a", "new"]));
  state.lacking = { waiting: new Map([["new" as DestinationId, ["t"]]]), error: null };
  await reloader.reload("file");
  state.file = loaded(yaml(["a", "b"]));
  state.lacking = { waiting: new Map(), error: null };
  const both = [reloader.reload("topics"), reloader.reload("file")];
  await clock.advance(10);
  await Promise.all(both);
  expect(taken).toEqual([["a", "b"]]);
});

test("what breaks is reported as failed, and tried again at the next reading", async () => {
  const { reloader, state, taken, counts, said } = world(yaml(["a"]));
  state.file = loaded(yaml(["b"]));
  state.breaks = true;
  expect(await reloader.reload("file")).toMatchObject({
    outcome: "failed",
    problems: ["a stage does not take it"],
  });
  expect(said()).toEqual(["config.apply-failed"]);
  state.breaks = false;
  expect(await reloader.reload("SIGHUP")).toMatchObject({ outcome: "applied" });
  expect(taken).toEqual([["b"]]);
  expect(await counts()).toMatchObject({ applied: 1, failed: 1 });
});

test("readings come one after the other, and those that wait are one", async () => {
  const { reloader, state, taken, followed } = world(yaml(["a"]));
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  state.file = loaded(yaml(["b"]));
  const first = reloader.reload("file");
  await Promise.resolve();
  await Promise.resolve();
  expect(state.makes).toBe(1);
  state.file = loaded(yaml(["c"]));
  const others = [reloader.reload("file"), reloader.reload("SIGHUP"), reloader.reload("request")];
  expect(followed).toHaveLength(1);
  gate.resolve();
  expect((await first).outcome).toBe("applied");
  const results = await Promise.all(others);
  expect(new Set(results).size).toBe(1);
  expect(taken).toEqual([["b"], ["c"]]);
  expect(followed).toHaveLength(2);
});

test("once the program stops nothing is taken over, also by a reading in progress", async () => {
  const { reloader, state, taken, said } = world(yaml(["a"]));
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  state.file = loaded(yaml(["b"]));
  const reading = reloader.reload("file");
  await Promise.resolve();
  reloader[Symbol.dispose]();
  gate.resolve();
  expect((await reading).outcome).toBe("failed");
  expect((await reloader.reload("SIGHUP")).outcome).toBe("failed");
  expect(taken).toEqual([]);
  expect(said()).toEqual([]);
});

const URL = 'endpoints: [{ url: "https://a.example.com/" }]';
const withTypes = (destinations: readonly string[], connected: string) => `
kafka: { brokers: [kafka-1:9092] }
sources: [{ id: web, destinations: [${connected}] }]
destinations: [${destinations.join(", ")}]
`;
const running = config(withTypes(["{ id: a, type: topic, name: A }"], "a"));
const wanted = config(
  withTypes([`{ id: new, type: webhook, ${URL} }`, `{ id: a, type: webhook, ${URL} }`], "new, a"),
);
const ids = (names: readonly string[]) => new Set(names as readonly DestinationId[]);

test("when none waits it is the configuration itself", () => {
  expect(heldBack(running, wanted, ids([]))).toBe(wanted);
});

test("a new one that waits is omitted, also of its sources", () => {
  const next = heldBack(running, wanted, ids(["new"]));
  expect(next.destinations).toEqual([wanted.destinations[1]]);
  expect(next.sources.map(({ destinations }) => destinations)).toEqual([["a"]]);
});

test("one of another type that waits is as it runs", () => {
  const next = heldBack(running, wanted, ids(["a"]));
  expect(next.destinations).toEqual([wanted.destinations[0], running.destinations[0]]);
  expect(next.sources).toEqual(wanted.sources);
});
