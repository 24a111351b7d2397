// The table of operator-actions.ts: records that are written can be read again, and all other records are ignored.

import { describe, expect, test } from "vitest";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import {
  type EarlyRelease,
  earlyReleaseRecord,
  endpointRecord,
  forgetRecord,
  goneKey,
  goneRecord,
  type Pause,
  pauseRecord,
  readOperatorAction,
  releasedRecord,
  resumeRecord,
} from "../../../../src/router/control/operator-actions.ts";

const crm = "crm" as DestinationId;
const HASH = endpointKey("http://a.test/");
const atMs = Date.parse("2026-03-01T09:30:00.250Z");
const pause: Pause = { destination: crm, sinceMs: atMs, by: "command", untilMs: atMs + 1 };
const retry: EarlyRelease = {
  ...{ kind: "retry", destination: crm, id: "a-1", atMs, by: "command" },
  receivedBeforeMs: null,
};
const cancel: EarlyRelease = { ...retry, kind: "cancel", receivedBeforeMs: atMs - 1 };

test("what is written is read again", () => {
  const whole = readOperatorAction(pauseRecord("operations", pause));
  expect(whole).toEqual({ kind: "pause", pause });
  const endless = { ...pause, untilMs: null };
  expect(readOperatorAction(pauseRecord("operations", endless))).toEqual({
    kind: "pause",
    pause: endless,
  });
  expect(readOperatorAction(resumeRecord("operations", crm))).toEqual({
    kind: "resume",
    destination: crm,
  });
  for (const earlyRelease of [retry, cancel]) {
    expect(readOperatorAction(earlyReleaseRecord("operations", earlyRelease))).toEqual({
      kind: "release",
      earlyRelease,
    });
  }
  const released = { id: "a-1", delay: "10s", partition: 3, through: 70, topicId: "t-1" };
  expect(readOperatorAction(releasedRecord("operations", released))).toEqual({
    kind: "released",
    released,
  });
  const earlier = {
    key: Buffer.from("released/a-1/10s/3"),
    value: Buffer.from('{"v":1,"through":70}'),
  };
  expect(readOperatorAction(earlier)).toEqual({
    ...{ kind: "released", released: { ...released, topicId: "" } },
  });
  const endpoint = endpointKey("http://a.test/");
  for (const [kind, forMs] of [
    ["accepts", 0],
    ["fails", 0],
    ["asks", 30_000],
    ["proxy-fails", 8_000],
    ["proxy-works", 0],
  ] as const) {
    const news = { destination: crm, id: "eu", endpoint, process: "p-1", news: kind, forMs };
    expect(readOperatorAction(endpointRecord("operations", news))).toEqual({
      kind: "endpoint",
      news,
    });
  }
  const gone = { destination: crm, endpoint, id: "eu", atMs };
  expect(readOperatorAction(goneRecord("operations", gone))).toEqual({ kind: "gone", gone });
  const forgotten = forgetRecord("operations", goneKey(crm, endpoint));
  expect(readOperatorAction(forgotten)).toEqual({
    ...{ kind: "forget-gone", destination: crm, endpoint },
  });
  expect(readOperatorAction(forgetRecord("operations", "release/crm/a-1"))).toEqual({
    ...{ kind: "forget-release", destination: crm, id: "a-1" },
  });
  expect(readOperatorAction(forgetRecord("operations", "released/a-1/10s/3"))).toEqual({
    ...{ kind: "forget-released", id: "a-1" },
  });
});

test("all records of a destination lie in one partition", () => {
  const { topic, partition, key } = pauseRecord("p.operator-actions", pause);
  expect([topic, partition, key?.toString()]).toEqual(["p.operator-actions", 0, "pause/crm"]);
});

describe("anything else is rejected with a sentence", () => {
  const good = { v: 1, since: "2026-03-01T09:30:00.000Z", by: "command", until: null };
  const earlyReleaseOf = {
    ...{ v: 1, kind: "retry", at: good.since, by: "command", receivedBefore: null },
  };
  const BY = 'its "by" is not a string of 1 to 100 ASCII characters';
  test.each([
    ["pause/crm", "{", "its value is not a JSON object"],
    ["pause/crm", "[]", "its value is not a JSON object"],
    ["pause/crm", { ...good, v: 2 }, 'its "v" is not 1, so a later version of Switchyard wrote it'],
    ["pause/crm", { ...good, since: "?" }, 'its "since" is not a time'],
    ["pause/crm", { ...good, until: 5.5e99 }, 'its "until" is neither a time nor null'],
    ["pause/crm", { ...good, by: "\u001b[31m" }, BY],
    ["pause/crm", { ...good, by: "x".repeat(101) }, BY],
    ["pause/C RM", good, "its key does not contain a valid destination ID"],
    ["pause/crm/more", good, "its key is unknown to this version"],
    ["resume/crm", good, "its key is unknown to this version"],
    ["", good, "its key is unknown to this version"],
    [
      "release/crm/a",
      { ...earlyReleaseOf, kind: "push" },
      'its "kind" is not one of retry, cancel',
    ],
    ["release/crm/a", { ...earlyReleaseOf, at: 1 }, 'its "at" is not a time'],
    [
      ...(["release/crm/a", { ...earlyReleaseOf, kind: "cancel" }] as const),
      'its "receivedBefore" is not a time (for cancel) or null (for all other kinds)',
    ],
    [
      ...(["release/crm/a", { ...earlyReleaseOf, receivedBefore: good.since }] as const),
      'its "receivedBefore" is not a time (for cancel) or null (for all other kinds)',
    ],
    ["release/crm/a", { ...earlyReleaseOf, by: 7 }, BY],
    ["release/crm/a b", earlyReleaseOf, "its key is unknown to this version"],
    [`gone/crm/${HASH}`, { v: 1, at: 1, id: "1" }, 'its "at" is not a time'],
    [`gone/crm/${HASH}`, { v: 1, at: good.since, id: "" }, 'its "id" is not an endpoint ID'],
    [`gone/C/${HASH}`, { v: 1, at: good.since, id: "1" }, "its key is unknown to this version"],
    ["gone/crm/1", { v: 1, at: good.since, id: "1" }, "its key is unknown to this version"],
    ["gone/crm", { v: 1, at: good.since, id: "1" }, "its key is unknown to this version"],
    ["released/a/10x/0", { v: 1, through: 1 }, "its key is unknown to this version"],
    ["released/a/10s/0", { v: 1, through: -1 }, 'its "through" is not an offset'],
    ["released/a/10s/0", { v: 1, through: "1" }, 'its "through" is not an offset'],
  ])("%s %j", (key, value, error) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const read = readOperatorAction({ key: Buffer.from(key), value: Buffer.from(text) });
    expect(read).toEqual({ kind: "refused", error });
  });

  test.each(["crm; curl x|sh #", "", "C", "a\nb", "x".repeat(65)])(
    "routes to a destination that cannot exist: %j",
    (wrong) => {
      const routes = [{ sources: ["web"], destinations: ["crm", wrong] }];
      const value = { v: 1, stages: ["route"], since: good.since, routes };
      const record = { key: Buffer.from("process/a"), value: Buffer.from(JSON.stringify(value)) };
      const error = 'its "routes" contain an invalid destination ID';
      expect(readOperatorAction(record)).toEqual({ kind: "refused", error });
    },
  );

  test.each([
    "pause/C",
    "release/crm",
    "other/crm",
    "released/ /1/2",
    "pause/crm/x",
    "gone/crm",
    "gone/crm/1",
  ])("a tombstone for %s", (key) => {
    const read = readOperatorAction({ key: Buffer.from(key), value: null });
    expect(read.kind).toBe("refused");
  });

  test("a record without a key", () => {
    expect(readOperatorAction({ key: null, value: null }).kind).toBe("refused");
  });
});
