import { describe, expect, test } from "vitest";
import type { AuditReport, DestinationSums } from "../../../../src/operator/audit/audit.ts";
import { auditJson, auditText, closes } from "../../../../src/operator/audit/audit-text.ts";
import type { Finding } from "../../../../src/operator/audit/locate.ts";

const FROM_MS = Date.parse("2026-03-01T09:00:00Z");

function sumsOf(given: Partial<DestinationSums> = {}): DestinationSums {
  return {
    isAudited: true,
    routed: 0,
    notified: 0,
    replayed: 0,
    parts: 0,
    delivered: 0,
    suppressed: 0,
    queued: 0,
    waiting: 0,
    awaitingRetry: 0,
    dropped: 0,
    deadLettered: new Map(),
    skipped: new Map(),
    repeated: 0,
    missing: 0,
    tooMany: 0,
    unnamed: 0,
    ...given,
  };
}

function reportOf(given: Partial<AuditReport> = {}): AuditReport {
  return {
    fromMs: FROM_MS,
    toMs: FROM_MS + 3_600_000,
    calls: { routed: 0, repeated: 0, deadLettered: new Map(), waiting: 0 },
    destinations: new Map(),
    findings: [],
    unnamed: [],
    unknown: [],
    crashes: [],
    ...given,
  };
}

function findingOf(given: Partial<Finding> = {}): Finding {
  return {
    kind: "missing",
    messageId: "m-1",
    destination: "crm",
    place: { topic: "switchyard.calls", partition: 2, offset: 17 },
    atMs: FROM_MS,
    last: "the route stage wrote it to the destination's queue, but it is not there",
    ...given,
  };
}

test("a report in which everything closes", () => {
  const crm = sumsOf({
    ...{ routed: 12_000, notified: 1, replayed: 2, parts: 7, repeated: 3, suppressed: 4 },
    ...{ delivered: 11_990, queued: 10, awaitingRetry: 5 },
    deadLettered: new Map([
      ["expired", 3],
      ["rejected", 1],
    ]),
    skipped: new Map([["filtered", 20]]),
  });
  const report = reportOf({
    calls: {
      routed: 12_021,
      repeated: 2,
      deadLettered: new Map([["invalid-call", 1]]),
      waiting: 9,
    },
    destinations: new Map([
      ["warehouse", sumsOf({ routed: 8, isAudited: false })],
      ["crm", crm],
    ]),
    unknown: ["5 records of switchyard.calls/0: processed without a ledger"],
    crashes: [{ group: "switchyard.deliver.crm", atMs: FROM_MS + 90_000 }],
  });
  expect(auditText(report).split("\n")).toEqual([
    "Calls received from 2026-03-01 09:00:00 to 2026-03-01 10:00:00 UTC: 12,021 routed (1 dead letter: invalid-call, 2 routed twice after a crash), 9 waiting.",
    "",
    "DESTINATION  DELIVERIES  TWICE  DELIVERED  QUEUED  AWAITING RETRY  DEAD LETTERS  SUPPRESSED  RESULT",
    "crm              12,010      3     11,990      10               5             4           4  closes",
    "warehouse             8      -          -       -               -             -           -  not audited",
    "",
    "crm: 1 delete notification; 2 replayed deliveries; 7 parts for other endpoints; dead letters: 3 expired, 1 rejected; calls skipped: 20 filtered",
    "",
    "Processes crashed, or lost their partitions:",
    "  one of the group switchyard.deliver.crm, before 2026-03-01 09:01:30",
    "",
    "What is not known:",
    "  5 records of switchyard.calls/0: processed without a ledger",
    "",
    "Every sum closes.",
    "",
  ]);
  expect(closes(report)).toBe(true);
});

test("the smallest report has no headings without content", () => {
  expect(auditText(reportOf())).toBe(
    "Calls received from 2026-03-01 09:00:00 to 2026-03-01 10:00:00 UTC: 0 routed, 0 waiting.\n\n" +
      "Every sum closes.\n",
  );
});

describe("a report in which not everything closes", () => {
  test("names the deliveries, and those that cannot be named by their number", () => {
    const report = reportOf({
      destinations: new Map([["crm", sumsOf({ missing: 1, tooMany: 2, unnamed: 3 })]]),
      findings: [
        findingOf(),
        findingOf({ kind: "unread", messageId: null, destination: null, last: "the offsets …" }),
      ],
      unnamed: ["crm: 3 deliveries …"],
    });
    const text = auditText(report);
    expect(text).toContain("  1 missing, 2 too many, 3 differ\n");
    expect(text).toMatch(
      /\n\nNot every sum closes:\n {2}crm: 3 deliveries …\n {2}missing: m-1 for/,
    );
    expect(text).toContain("missing: m-1 for crm at switchyard.calls/2/17: the route stage wrote");
    expect(text).toContain("  unread: a record at switchyard.calls/2/17: the offsets …\n");
    expect(text).not.toContain("Every sum closes");
    expect(closes(report)).toBe(false);
  });
  test("does not close if deliveries cannot be named", () => {
    const report = reportOf({ unnamed: ["crm: 3 deliveries …"] });
    expect(closes(report)).toBe(false);
    expect(JSON.parse(auditJson(report))).toMatchObject({ closes: false, unnamed: report.unnamed });
  });
  test("shows 100 findings, and counts the others", () => {
    const text = auditText(reportOf({ findings: Array(102).fill(findingOf()) }));
    expect(text.match(/missing: m-1/g)).toHaveLength(100);
    expect(text).toContain("  2 more findings, which --json lists\n");
  });
  test("does not pass on characters that control the terminal", () => {
    const text = auditText(reportOf({ findings: [findingOf({ messageId: "m\u001b[2J" })] }));
    expect(text).toContain("missing: m\\u001b[2J for crm");
  });
});

test("the JSON contains the whole report, with times in ISO 8601", () => {
  const report = reportOf({
    calls: { routed: 4, repeated: 1, deadLettered: new Map([["invalid-call", 2]]), waiting: 3 },
    destinations: new Map([
      ["crm", sumsOf({ routed: 2, delivered: 2, skipped: new Map([["filtered", 1]]) })],
    ]),
    findings: [findingOf(), findingOf({ kind: "unread", atMs: null, messageId: null })],
    unknown: ["the ledger is empty"],
    crashes: [{ group: "switchyard.route", atMs: FROM_MS }],
  });
  const json = auditJson(report);
  expect(json).toMatch(/^[^\n]+\n$/);
  const { calls, destinations, findings, ...rest } = JSON.parse(json);
  expect(rest).toEqual({
    closes: false,
    from: "2026-03-01T09:00:00.000Z",
    until: "2026-03-01T10:00:00.000Z",
    unnamed: [],
    unknown: ["the ledger is empty"],
    crashes: [{ group: "switchyard.route", before: "2026-03-01T09:00:00.000Z" }],
  });
  expect(calls).toEqual({
    routed: 4,
    repeated: 1,
    waiting: 3,
    deadLettered: { "invalid-call": 2 },
  });
  const { isAudited, ...sums } = sumsOf({ routed: 2, delivered: 2 });
  const byReason = { deadLettered: {}, skipped: { filtered: 1 } };
  expect(destinations).toEqual([{ destination: "crm", audited: isAudited, ...sums, ...byReason }]);
  expect(findings).toEqual([
    {
      ...{ kind: "missing", messageId: "m-1", destination: "crm", topic: "switchyard.calls" },
      ...{ partition: 2, offset: 17, at: "2026-03-01T09:00:00.000Z", last: findingOf().last },
    },
    expect.objectContaining({ kind: "unread", messageId: null, at: null }),
  ]);
});

test("what waits behind earlier deliveries, and what was dropped, have columns if there are any", () => {
  const crm = sumsOf({ routed: 9, delivered: 4, waiting: 4, dropped: 2, repeated: 1 });
  const destinations = new Map([
    ["crm", crm],
    ["erp", sumsOf({ routed: 8, isAudited: false })],
  ]);
  expect(auditText(reportOf({ destinations })).split("\n").slice(2, 5)).toEqual([
    "DESTINATION  DELIVERIES  TWICE  DELIVERED  QUEUED  AWAITING RETRY  DEAD LETTERS  SUPPRESSED  WAITING  DROPPED  RESULT",
    "crm                   9      1          4       0               0             0           0        4        2  closes",
    "erp                   8      -          -       -               -             -           -        -        -  not audited",
  ]);
});
