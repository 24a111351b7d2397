// Deliveries that expire soon: what a stage reports about its own partitions, and the total count.

import { expect, test } from "vitest";
import { NO_OPERATOR_ACTIONS } from "../../../../src/router/control/operator-action-state.ts";
import { countExpiring } from "../../../../src/router/delay/expiring-count.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import {
  BILLING,
  COUNTED_MS,
  CountingWorld,
  CRM,
  DELAYS,
  groups,
  topics,
  WINDOW_MS,
} from "../../../support/worlds/counting-world.ts";

const HOUR_MS = 3_600_000;

test("the stage says the earliest first attempt of each destination that was tried", async () => {
  const world = new CountingWorld();
  const firstMs = world.clock.nowMs() - 2 * HOUR_MS;
  world.scheduleRetry(CRM, "60m", 20);
  world.scheduleRetry(CRM, "60m", 1, { firstAttemptAtMs: firstMs });
  world.scheduleRetry(BILLING, "10m", 5, { firstAttemptAtMs: null, attempt: 0 });
  const { stage, stop } = await world.start();
  await world.clock.advance(COUNTED_MS);
  expect(stage.firstAttempts?.()).toEqual(new Map([[CRM, firstMs]]));
  await stop();
});

test("those that expire by then are counted in all retry delays, of the destinations that are asked for", async () => {
  const world = new CountingWorld();
  const nowMs = world.clock.nowMs();
  const nearMs = nowMs - 3.5 * HOUR_MS;
  world.scheduleRetry(CRM, "60m", 4, { firstAttemptAtMs: nearMs });
  world.scheduleRetry(CRM, "10m", 3, { firstAttemptAtMs: nearMs });
  world.scheduleRetry(CRM, "10m", 9);
  world.scheduleRetry(CRM, "10m", 2, { firstAttemptAtMs: null, attempt: 0 });
  world.scheduleRetry(BILLING, "60m", 5, { firstAttemptAtMs: nearMs });
  const earlyRelease = {
    kind: "retry",
    destination: CRM,
    id: "p",
    by: "x",
    receivedBeforeMs: null,
  };
  const gone = { ...earlyRelease, kind: "retry" as const, atMs: nowMs + 1 };
  const operatorActions = {
    ...NO_OPERATOR_ACTIONS,
    earlyReleasesOf: () => [gone],
    releasedThrough: (_id: string, delay: string) => (delay === "10m" ? 99 : 0),
  };
  const count = (of: typeof NO_OPERATOR_ACTIONS) => {
    const windows = {
      delays: DELAYS,
      topics,
      groups,
      retryWindowMs: WINDOW_MS,
      operatorActions: of,
    };
    const deps = { kafka: world.cluster.connect(), clock: world.clock };
    const { signal } = new AbortController();
    return clockDriver(world.clock).during(
      countExpiring(deps, windows, new Set([CRM]), nowMs + HOUR_MS, signal),
    );
  };
  expect(await count(NO_OPERATOR_ACTIONS)).toEqual(
    new Map([[CRM, { deliveries: 7, isLowerBound: false }]]),
  );
  expect(await count(operatorActions)).toEqual(
    new Map([[CRM, { deliveries: 4, isLowerBound: false }]]),
  );
});
