// The steps of apply-config.ts, in order.

import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { LiveSettings } from "../../../../src/domain/live-settings.ts";
import { MissingPermissionError, type TopicSpec } from "../../../../src/kafka/port.ts";
import { makeTopics, takeOver } from "../../../../src/program/run/apply-config.ts";
import type { RunningStage } from "../../../../src/router/stage/running-stage.ts";
import { config } from "../../../support/build/config-source.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";

const yaml = (ids: readonly string[], kafka = "") => `
kafka: { brokers: [kafka-1:9092], topicPrefix: p., ${kafka} }
sources: [{ id: web, destinations: [${ids.join(", ")}] }]
destinations:
${ids.map((id) => `  - { id: ${id}, type: webhook, endpoints: [{ url: "https://${id}.example.com/" }] }`).join("\n")}
`;

function world() {
  const happened: string[] = [];
  const state = { there: [] as string[], isDown: false, isHidden: false, mayCreate: true };
  const admin = {
    assertVisible: async () => {
      if (state.isHidden) throw new MissingPermissionError("Describe is missing", null);
    },
    topics: async () => {
      if (state.isDown) throw new Error("no broker responds");
      return state.there;
    },
    create: async (specs: readonly TopicSpec[]) => {
      if (!state.mayCreate) throw new Error("no right to create topics");
      happened.push(`create ${specs.map(({ name }) => name).join(" ")}`);
    },
  };
  const retired = Promise.withResolvers<void>();
  const stage = (name: "deliver" | "route"): RunningStage => ({
    name,
    joined: Promise.resolve(),
    healthProblems: () => [],
    update: ({ destinations }: LiveSettings) => {
      happened.push(`${name} ${destinations.map(({ id }) => id).join(" ")}`);
    },
    retire: async () => {
      happened.push(`retire ${name}`);
      await retired.promise;
    },
    [Symbol.asyncDispose]: async () => undefined,
  });
  const metrics = createMetrics();
  const { log } = parsedLog();
  const keeper = {
    update: (plan: readonly TopicSpec[]) => {
      happened.push(
        `plan ${plan.some(({ name }) => name === "p.deliveries.b") ? "with" : "without"} b`,
      );
    },
  };
  const rerouting = {
    forget: (gone: ReadonlySet<string>) => void happened.push(`forget ${[...gone]}`),
  };
  const stages = [stage("deliver"), stage("route")];
  return {
    deps: { admin, stages, keeper, rerouting, metrics, log },
    happened,
    state,
    retired,
    metrics,
  };
}

test("topics of new destinations are made: all that are missing, and no others", async () => {
  const { deps, happened, state } = world();
  state.there = ["p.deliveries.b"];
  const lacking = await makeTopics(deps, config(yaml(["a"])), config(yaml(["a", "b", "c"])));
  expect(lacking).toEqual({ waiting: new Map(), error: null });
  expect(happened).toEqual(["create p.deliveries.c p.retries.b p.retries.c"]);
});

test("with none that is new the brokers are not asked", async () => {
  const { deps, state } = world();
  state.isDown = true;
  const lacking = await makeTopics(deps, config(yaml(["a", "b"])), config(yaml(["b"])));
  expect(lacking).toEqual({ waiting: new Map(), error: null });
});

test.each([
  ["nobody may make them", "createTopics: false", {}, null],
  ["making them fails", "createTopics: true", { mayCreate: false }, "no right to create topics"],
  ["the brokers are away", "createTopics: true", { isDown: true }, "no broker responds"],
])("a new destination waits for its topics while %s", async (_why, kafka, more, error) => {
  const { deps, state } = world();
  Object.assign(state, more);
  const lacking = await makeTopics(
    deps,
    config(yaml(["a"], kafka)),
    config(yaml(["a", "b"], kafka)),
  );
  expect(lacking).toEqual({
    waiting: new Map([["b", ["p.deliveries.b", "p.retries.b"]]]),
    error: error === null ? null : new Error(error),
  });
});

test("a destination whose order becomes strict waits for the topic of its order", async () => {
  const { deps } = world();
  const loose = yaml(["a"], "createTopics: false");
  const strict = loose.replace("type: webhook", "type: webhook, order: strict");
  const lacking = await makeTopics(deps, config(loose), config(strict));
  expect(lacking.waiting).toEqual(new Map([["a", ["p.order.a"]]]));
});

test("a new destination whose topics are not shown waits for the permission, and makes nothing", async () => {
  const { deps, state, happened } = world();
  state.isHidden = true;
  const of = (ids: readonly string[]) => config(yaml([...ids], "createTopics: true"));
  const { waiting, error } = await makeTopics(deps, of(["a"]), of(["a", "b"]));
  expect([...waiting.keys()]).toEqual(["b"]);
  expect(error).toBeInstanceOf(MissingPermissionError);
  expect(happened).toEqual([]);
});

test("plan and stages first, in one turn; what is gone ends, and is forgotten after that", async () => {
  const { deps, happened, retired, metrics } = world();
  metrics.callsRouted.bind({ destination: "a" }).inc();
  metrics.callsUnrouted.bind({ source: "web" }).inc();
  const next = config(yaml(["b"]));
  const settle = takeOver(deps, config(yaml(["a"])), next);
  expect(happened).toEqual(["plan with b", "deliver b", "route b"]);
  const settled = settle(() => next);
  expect(happened.slice(3)).toEqual(["retire deliver", "retire route"]);
  expect(await metrics.text()).toContain('{destination="a"} 1');
  retired.resolve();
  await settled;
  expect(happened.slice(5)).toEqual(["forget a"]);
  expect(await metrics.text()).not.toContain('{destination="a"}');
  expect(await metrics.text()).toContain('{source="web"} 1');
});

test("one that is back by then is not forgotten", async () => {
  const { deps, happened, retired, metrics } = world();
  metrics.callsRouted.bind({ destination: "a" }).inc();
  const settle = takeOver(deps, config(yaml(["a"])), config(yaml([])));
  retired.resolve();
  await settle(() => config(yaml(["a"])));
  expect(happened.at(-1)).toBe("forget ");
  expect(await metrics.text()).toContain('{destination="a"} 1');
});
