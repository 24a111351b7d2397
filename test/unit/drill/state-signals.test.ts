import { expect, test } from "vitest";

import type { DestinationId } from "../../../src/domain/ids.ts";
import { type Expected, FINE } from "../../drill/expected.ts";
import type { Look } from "../../drill/look.ts";
import { stateSignals } from "../../drill/state-signals.ts";

const DOWN = "down" as DestinationId;
const MADE_MS = 1_000_000;
const ACCEPTED_MS = 999_000;
const DOWN_NOW: Expected = {
  ...FINE,
  ...{ circuit: "open", hold: "circuit-open", isFailing: true, isNamed: true, state: "on-hold" },
  failures: { outcome: "refused", status: null, level: "warn" },
};

interface Said {
  readonly circuit: number;
  readonly holdReason: string | null;
  readonly onHoldSince: number;
  readonly failingSince: number;
  readonly accepted: number;
  readonly healthProblems: readonly string[];
  readonly state: string;
  readonly partitions: number;
  readonly cause: string;
}

const TRUE_WHILE_DOWN: Said = {
  ...{ circuit: 2, holdReason: "circuit-open", onHoldSince: 1_001, failingSince: 1_000 },
  ...{ accepted: 999, state: "on-hold", partitions: 3, cause: "refused" },
  healthProblems: ["destination down: endpoint down[1] keeps failing"],
};
const TRUE_WHILE_FINE: Said = {
  ...{ circuit: 0, holdReason: null, onHoldSince: 0, failingSince: 0 },
  ...{ accepted: 999, state: "delivering", partitions: 3, cause: "" },
  healthProblems: ["destination shutdown: endpoint shutdown[1] keeps failing"],
};

function look(said: Said): Look {
  const sample = (name: string, value: number, reason?: string) => ({
    name: `switchyard_${name}`,
    labels: { destination: DOWN, ...(reason === undefined ? {} : { reason }) },
    value,
  });
  const metrics = [
    sample("circuit_breaker_state", said.circuit),
    ...(said.holdReason === null ? [] : [sample("destination_on_hold", 1, said.holdReason)]),
    sample("destination_on_hold_since_timestamp_seconds", said.onHoldSince),
    sample("destination_failing_since_timestamp_seconds", said.failingSince),
    sample("destination_last_success_timestamp_seconds", said.accepted),
  ];
  const attempted = { msg: "delivery.attempted", destination: DOWN, level: "warn" };
  const lines =
    said.cause === ""
      ? []
      : [{ ...attempted, atMs: MADE_MS + 5_000, requests: [{ cause: said.cause }] }];
  const receiver = () => ({ responses: [{ atMs: ACCEPTED_MS, status: 200 }] });
  return {
    fromMs: MADE_MS + 5_000,
    toMs: MADE_MS + 8_000,
    metrics,
    lines,
    ready: { status: 200, healthProblems: said.healthProblems, parts: {} },
    process: { destinations: [{ id: DOWN, state: said.state, partitions: said.partitions }] },
    status: { report: { destinations: [{ destination: DOWN, state: said.state }] } },
    truth: { product: { receiver, startedAtMs: 0 } },
  } as unknown as Look;
}

function wrong(said: Said, expected: Expected): readonly string[] {
  const signals = stateSignals(look(said), DOWN, expected, MADE_MS);
  return signals.filter(({ ok }) => !ok).map(({ signal }) => signal);
}

test("what is true is found to be true", () => {
  expect(wrong(TRUE_WHILE_DOWN, DOWN_NOW)).toEqual([]);
  expect(wrong(TRUE_WHILE_FINE, FINE)).toEqual([]);
});

test.each<readonly [string, Partial<Said>, readonly string[]]>([
  ["a circuit that is recovering", { circuit: 1 }, ["metrics: circuit"]],
  ["a queue that is released between two probes", { holdReason: null }, ["metrics: on hold"]],
  ["a time that starts again with each probe", { onHoldSince: 1_030 }, ["metrics: on hold since"]],
  ["nothing that fails, between two attempts", { failingSince: 0 }, ["metrics: failing since"]],
  ["something accepted meanwhile", { accepted: 1_020 }, ["metrics: last accepted"]],
  ["another destination's problem", { healthProblems: TRUE_WHILE_FINE.healthProblems }, ["readyz"]],
  ["another state", { state: "delivering" }, ["/status: state", "status: state"]],
  ["a state that nobody knows", { state: "not-owned" }, ["/status: state", "status: state"]],
  ["another cause", { cause: "timeout" }, ["log: last attempt"]],
])("said of a destination that is down, %s is found", (_name, changed, signals) => {
  expect(wrong({ ...TRUE_WHILE_DOWN, ...changed }, DOWN_NOW)).toEqual(signals);
});

test("all that is said of a destination that is down is false of one that is fine", () => {
  expect(wrong(TRUE_WHILE_DOWN, FINE)).toEqual([
    "metrics: circuit",
    "metrics: on hold",
    "metrics: on hold since",
    "metrics: failing since",
    "readyz",
    "/status: state",
    "status: state",
    "log: warnings",
  ]);
});
