// `switchyard topics --brokers`: its table, its JSON and its exit status.

import { expect, test } from "vitest";
import type { Admin, ClusterVersions, RequestVersions } from "../../../../../src/kafka/port.ts";
import { runProgram } from "../../../../../src/program/cli/program.ts";
import { showBrokers } from "../../../../../src/program/cli/topics/brokers.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

type Range = readonly [min: number, max: number];

function versions(
  request: string,
  known: Range,
  accepted: Range | null,
  sent: readonly number[],
  state: RequestVersions["state"],
): RequestVersions {
  const rangeOf = ([min, max]: Range) => ({ min, max });
  const all = accepted === null ? null : rangeOf(accepted);
  return { request, known: rangeOf(known), accepted: all, sent, state };
}

const OK = versions("Produce", [0, 7], [3, 13], [7], "ok");
const NEAR = versions("DeleteGroups", [0, 1], [0, 2], [1], "near");
const NONE = versions("Heartbeat", [0, 3], [4, 4], [], "none");
const MIXED = versions("ListOffsets", [2, 5], null, [2, 5], "ok");
const BROKER = { nodeId: 1, address: "kafka-1:9092", error: null };

async function show(found: ClusterVersions, json = false) {
  const shell = fakeShell();
  const admin = { requestVersions: async () => found } as unknown as Admin;
  const status = await showBrokers(admin, shell, json);
  return { status, out: shell.output() };
}

test("nothing to warn about", async () => {
  const { status, out } = await show({ brokers: [BROKER], requests: [OK, MIXED] });
  expect(status).toBe(0);
  expect(out).toBe(`Broker 1: kafka-1:9092

REQUEST      SENT  CAN BE SENT  ACCEPTED BY ALL  NOTE
Produce      7     0 to 7       3 to 13          -
ListOffsets  2, 5  2 to 5       -                -

All requests use versions that later releases of Kafka are unlikely to drop soon.
`);
});

test("a request near the minimum is a warning, and no failure", async () => {
  const { status, out } = await show({ brokers: [BROKER], requests: [OK, NEAR] });
  expect(status).toBe(0);
  expect(out).toContain("DeleteGroups  1     0 to 1       0 to 2           near the minimum\n");
  expect(out).toContain("1 request is sent in the lowest version that the cluster accepts, ");
  expect(out).toContain("or the one above it: DeleteGroups.");
});

test("a request without a common version is a failure that says what to do", async () => {
  const { status, out } = await show({ brokers: [BROKER], requests: [NEAR, NONE] });
  expect(status).toBe(1);
  expect(out).toContain("Heartbeat     -     0 to 3       4                no common version\n");
  expect(out).toContain("No version of Heartbeat can be sent to every broker.");
  expect(out).toContain("upgrade Switchyard");
});

test("a broker that does not respond is named", async () => {
  const lost = { nodeId: 2, address: "kafka-2:9092", error: "connection refused" };
  const { status, out } = await show({ brokers: [BROKER, lost], requests: [OK] });
  expect(status).toBe(1);
  expect(out).toContain("Broker 2: kafka-2:9092: connection refused\n");
});

test("as JSON it is all that is known", async () => {
  const found = { brokers: [BROKER], requests: [OK, NEAR, NONE] };
  const { status, out } = await show(found, true);
  expect(status).toBe(1);
  expect(JSON.parse(out)).toEqual(found);
});

test.each([["--apply"], ["--output", "strimzi"]])("it does not go with %s %s", async (...more) => {
  const shell = fakeShell();
  const config = "examples/switchyard.yaml";
  const status = await runProgram(["topics", "--brokers", ...more, "--config", config], shell);
  expect(status).toBe(2);
  expect(shell.errors()).toContain("--brokers cannot be combined with");
});
