// The laws about the audit at the end of a round: what a report must not contain, and what excuses it.

import { expect, test } from "vitest";
import {
  type AuditEnd,
  type AuditExpected,
  type AuditOutput,
  auditViolations,
} from "../../chaos/audit.ts";

const CRM = {
  ...{ destination: "crm", replayed: 0, delivered: 7, suppressed: 1, queued: 0, awaitingRetry: 0 },
  ...{ deadLettered: { expired: 2 }, skipped: {} },
};
const CLOSED: AuditOutput = {
  ...{ closes: true, findings: [], unnamed: [] },
  calls: { routed: 11, waiting: 0 },
  destinations: [CRM],
  unknown: ["the ledger begins at 2026-03-01T09:30:00.000Z: what was processed before that"],
};
const MISSING = {
  ...{ kind: "missing", messageId: "m7", destination: "crm", topic: "calls", last: "not there" },
};
const CLEAN: AuditExpected = { injected: [], losses: [], settled: { records: 11, calls: 10 } };
const LOSSY: AuditExpected = { ...CLEAN, losses: [{ destination: "crm" }] };
const UNNAMED = { closes: false, unnamed: ["crm: 2 deliveries are missing"] };

function judged(output: Partial<AuditOutput>, expected: Partial<AuditExpected> = {}) {
  const whole = { ...CLOSED, ...output };
  const end: AuditEnd = { status: whole.closes ? 0 : 3, err: "", output: whole };
  return auditViolations(end, { ...CLEAN, ...expected });
}

test("a report that closes breaks no law", () => {
  expect(judged({})).toEqual([]);
});

const FOUND = { closes: false, findings: [MISSING] };
const SAYS_FOUND = ["audit: missing m7 for crm in calls: not there"];

test.each<[string, Partial<AuditOutput>, Partial<AuditExpected>, readonly string[]]>([
  ["a finding", FOUND, {}, SAYS_FOUND],
  ["a finding that was injected", FOUND, { injected: [MISSING] }, []],
  [
    "the same finding twice",
    { ...FOUND, findings: [MISSING, MISSING] },
    { injected: [MISSING] },
    SAYS_FOUND,
  ],
  [
    "another kind",
    FOUND,
    { injected: [{ ...MISSING, kind: "doubled" }] },
    [...SAYS_FOUND, "audit: it did not find doubled m7 for crm"],
  ],
  [
    "nothing, although something was injected",
    {},
    { injected: [MISSING] },
    ["audit: it did not find missing m7 for crm"],
  ],
  ["what is missing, of deleted records", FOUND, LOSSY, []],
  [
    "what is doubled, of deleted records",
    { closes: false, findings: [{ ...MISSING, kind: "doubled" }] },
    LOSSY,
    ["audit: doubled m7 for crm in calls: not there"],
  ],
  ["what is unnamed", UNNAMED, {}, ["audit: crm: 2 deliveries are missing"]],
  ["what is unnamed, of deleted records", UNNAMED, LOSSY, []],
  ["what is unknown", { unknown: ["the ledger is empty"] }, {}, ["audit: the ledger is empty"]],
  [
    "a call that was not routed",
    { calls: { routed: 10, waiting: 1 } },
    {},
    ["audit: 10 records of calls were routed, and 11 were written", "audit: 1 calls wait"],
  ],
  [
    "a delivery that did not end",
    { destinations: [{ ...CRM, delivered: 6 }] },
    {},
    ["audit: 9 deliveries for crm ended, of 10 calls"],
  ],
  [
    "one that did not end, and another one that ended twice because it was replayed",
    { destinations: [{ ...CRM, replayed: 1 }] },
    {},
    ["audit: 9 deliveries for crm ended, of 10 calls"],
  ],
  [
    "one that did not end, because its record was deleted",
    { ...FOUND, destinations: [{ ...CRM, delivered: 6 }] },
    { injected: [MISSING] },
    [],
  ],
  [
    "one that did not end, of deleted records",
    { destinations: [{ ...CRM, delivered: 6 }] },
    LOSSY,
    [],
  ],
  [
    "one that waits",
    { destinations: [{ ...CRM, queued: 1 }] },
    {},
    ["audit: 1 queued and 0 awaiting retry for crm"],
  ],
  [
    "one that waits, while programs run",
    { destinations: [{ ...CRM, queued: 1, delivered: 0 }] },
    { settled: null },
    [],
  ],
])("%s", (_, output, expected, says) => {
  expect(judged(output, expected)).toEqual(says);
});

test("an audit that fails breaks a law, as does an exit status that contradicts the report", () => {
  expect(auditViolations({ status: 1, err: "no broker\n", output: null }, CLEAN)).toEqual([
    "audit: it ended with 1: no broker",
  ]);
  expect(auditViolations({ status: 3, err: "", output: CLOSED }, CLEAN)).toEqual([
    "audit: exit status 3, closes: true",
  ]);
});
