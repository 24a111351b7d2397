import { describe, expect, test } from "vitest";
import { groupNames } from "../../../../src/domain/topics.ts";
import type { OwnerChange } from "../../../../src/operator/audit/books.ts";
import { changesOf, excuseOf } from "../../../../src/operator/audit/excuses.ts";
import { HOPS, type HopName } from "../../../../src/operator/audit/hops.ts";
import type { Copy } from "../../../../src/operator/audit/read-content.ts";

const groups = groupNames("");
const KEY = 7;

interface Given {
  readonly hop?: HopName;
  readonly changes?: readonly OwnerChange[];
  readonly hasOpenDeletions?: boolean;
  readonly open?: boolean;
}

/** What an audit says about a delivery that is too many, which was written at 10,000 ms. */
function excused(content: Partial<Copy>, given: Given = {}): string {
  const { hop = "queue", changes = [], hasOpenDeletions = false, open = false } = given;
  const place = { topic: "t", partition: 0, offset: 1 };
  const flags = { isNew: false, isWaiting: false, isDeletion: false };
  const hash = { key: KEY, high: 1, low: 2, messageId: "m", place, atMs: 10_000 };
  const balance = { hop: HOPS[hop], destination: "crm" };
  const isAtChange = changesOf(groups, { changes: () => changes }, balance);
  const keys = new Set(open ? [KEY] : []);
  const copy = { ...hash, ...flags, ...content };
  return excuseOf(copy, isAtChange, { hasOpenDeletions }, keys) ?? "named";
}

function changed(
  group: string,
  fromMs: number,
  toMs: number,
  isCrash = true,
): readonly OwnerChange[] {
  return [{ group, fromMs, toMs, isCrash }];
}

test("without an excuse, a delivery is named", () => {
  expect(excused({})).toBe("named");
});

describe("when the owner changed", () => {
  test.each<[string, readonly OwnerChange[], string]>([
    ["in between", changed(groups.route, 9_000, 11_000), "repeated"],
    [
      "up to 5 s before the last ledger record of a crash",
      changed("route", 14_000, 20_000),
      "repeated",
    ],
    ["earlier than that", changed(groups.route, 16_000, 20_000), "named"],
    [
      "before the last ledger record of an owner that ended",
      changed("route", 11_000, 20_000, false),
      "named",
    ],
    [
      "up to 30 s after the first ledger record of the next owner, because the earlier one may have been frozen",
      changed(groups.route, -30_000, -19_000),
      "repeated",
    ],
    ["later than that", changed(groups.route, -30_000, -21_000), "named"],
    [
      "after an owner that ended, and the first ledger record of the next one",
      changed(groups.route, 8_000, 9_000, false),
      "named",
    ],
  ])("a delivery that was written %s", (_when, changes, expected) => {
    expect(excused({}, { changes })).toBe(expected);
  });

  test.each<[HopName, readonly string[]]>([
    ["queue", ["route", "deletion", "replay.r", "delay.10s"]],
    ["delay", ["route", "deletion", "delay.10s", "deliver.crm"]],
    ["retry", ["replay.r", "delay.10s"]],
  ])("only groups that write to the hop %s are an excuse", (hop, expected) => {
    const all = ["route", "deletion", "replay.r", "delay.10s", "deliver.crm", "deliver.other"];
    const found = all.filter((group) => {
      return excused({}, { hop, changes: changed(group, 9_000, 11_000) }) === "repeated";
    });
    expect(found).toEqual(expected);
  });
});

test("the writer may not have written to the ledger yet: a delivery since the audit began is pending", () => {
  expect(excused({ isNew: true })).toBe("pending");
});

test("a delivery whose input is not in the ledger is pending", () => {
  expect(excused({}, { open: true })).toBe("pending");
});

test("a deletion is pending while requests are not in the ledger, and other deliveries are not", () => {
  expect(excused({ isDeletion: true }, { hasOpenDeletions: true })).toBe("pending");
  expect(excused({ isDeletion: true })).toBe("named");
  expect(excused({}, { hasOpenDeletions: true })).toBe("named");
});
