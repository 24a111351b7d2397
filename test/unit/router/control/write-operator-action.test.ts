// Operator actions are written to their topic, and read back in the same way as by processes.

import { expect, test } from "vitest";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import type { RejectedRecord } from "../../../../src/kafka/port.ts";
import { KnownOperatorActions } from "../../../../src/router/control/operator-action-state.ts";
import { goneRecord, readOperatorAction } from "../../../../src/router/control/operator-actions.ts";
import {
  forgetOperatorActions,
  pauseDestination,
  releaseEarly,
  resumeDestination,
} from "../../../../src/router/control/write-operator-action.ts";

const crm = "crm" as DestinationId;
const T = Date.UTC(2026, 2, 1, 9);
const PAUSE = { destination: crm, sinceMs: T, by: "command", untilMs: T + 1_000 };

function world(refusal: string | null = null) {
  const written: OutgoingRecord[] = [];
  const known = new KnownOperatorActions();
  const send = (records: readonly OutgoingRecord[]): Promise<readonly RejectedRecord[]> => {
    if (refusal !== null) {
      return Promise.resolve(records.map((record) => ({ record, error: refusal })));
    }
    written.push(...records);
    for (const record of records) {
      const operation = readOperatorAction(record);
      if (operation.kind !== "refused") known.apply(operation);
    }
    return Promise.resolve([]);
  };
  return { written, known, operating: { producer: { send }, topics: { operatorActions: "ops" } } };
}

test("a pause is known until it is resumed or over", async () => {
  const { operating, known, written } = world();
  await pauseDestination(operating, PAUSE);
  expect(known.pauseOf(crm, T)).toMatchObject({ by: "command", untilMs: T + 1_000 });
  expect(known.pauseOf("other" as DestinationId, T)).toBeNull();
  await resumeDestination(operating, crm, []);
  expect(known.pauseOf(crm, T)).toBeNull();
  expect(written.map(({ topic }) => topic)).toEqual(["ops", "ops"]);
  // The last record of a key applies, even after compaction.
  expect(new Set(written.map(({ key }) => `${key}`)).size).toBe(1);
});

test("a resume removes the records of endpoints that are gone, also after compaction", async () => {
  const { operating, known, written } = world();
  const gone = { destination: crm, endpoint: endpointKey("http://a.test/"), id: "1", atMs: T };
  await operating.producer.send([goneRecord("ops", gone)]);
  expect([...known.goneOf(crm)]).toEqual([[gone.endpoint, T]]);
  await resumeDestination(operating, crm, [gone.endpoint]);
  expect(known.goneOf(crm).size).toBe(0);
  expect(written.map(({ key, value }) => [`${key}`, value === null])).toEqual([
    [`gone/crm/${gone.endpoint}`, false],
    ["pause/crm", true],
    [`gone/crm/${gone.endpoint}`, true],
  ]);
});

test("what is released early and forgotten has a key of its own", async () => {
  const { operating, written } = world();
  const earlyRelease = { kind: "retry", destination: crm, id: "p-1", atMs: T } as const;
  await releaseEarly(operating, { ...earlyRelease, receivedBeforeMs: null, by: "command" });
  const key = `${written[0]?.key}`;
  expect(key).toBe("release/crm/p-1");
  await forgetOperatorActions(operating, [key]);
  expect([`${written[1]?.key}`, written[1]?.value]).toEqual([key, null]);
  await forgetOperatorActions(operating, []);
  expect(written.length).toBe(2);
});

test("a topic that takes nothing is said with its name", async () => {
  const { operating } = world("the disk is full");
  await expect(pauseDestination(operating, PAUSE)).rejects.toThrow(
    "Cannot write to ops: the disk is full",
  );
});
