import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { explainCommand } from "../../../../../src/program/cli/explain/command.ts";
import { signature } from "../../../../../src/router/destinations/webhook/signature.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const CONFIG = `
kafka: { brokers: ["127.0.0.1:1"] }
sources:
  - { id: web, writeKey: k-web, destinations: [hook, mail, off, warehouse] }
  - { id: ios, writeKey: k-ios, destinations: [mail] }
defaultSource: web
destinations:
  - id: hook
    type: webhook
    sharedSecret: abc123
    endpoints:
      - { url: "https://crm.example.com/a", headers: { X-Team: crm } }
      - { url: "https://crm.example.com/b" }
  - id: mail
    type: webhook
    name: Mail
    historical: false
    endpoints: [{ url: "https://mail.example.com/in" }]
  - { id: off, type: topic, name: "Off", enabled: false }
  - { id: warehouse, type: topic, name: Warehouse }
`;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-explain-"));
  writeFileSync(join(folder, "switchyard.yaml"), CONFIG);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the command with the lines on standard input, unless `args` names a file. */
async function explain(lines: string, args: readonly string[] = []) {
  const shell = fakeShell([lines], { SWITCHYARD_CONFIG: join(folder, "switchyard.yaml") });
  await explainCommand(shell).parseAsync([...args], { from: "user" });
  return { out: shell.output(), err: shell.errors() };
}

const CALL = {
  type: "track",
  userId: "u1",
  messageId: "m1",
  event: "Signed Up",
  timestamp: "2026-03-01T10:00:00+01:00",
};
const BODY =
  '{"version":1,"type":"track","userId":"u1","event":"Signed Up","properties":{},"timestamp":"2026-03-01T09:00:00.000Z"}';

test("a call is shown with its source, its destinations and the exact requests", async () => {
  const integrations = { All: false, Webhooks: true };
  const { out } = await explain(JSON.stringify({ ...CALL, integrations }));
  expect(out).toBe(
    `line 1  track
  source      web (the default source)
  message id  "m1"
  key         "u1"
  time        2026-03-01T09:00:00.000Z (its timestamp)
  hook (Webhooks) gets it: integrations include Webhooks
    topic switchyard.deliveries.hook
    endpoint hook[1] crm.example.com
    POST https://crm.example.com/a
      User-Agent: Switchyard/1.0
      Content-Type: application/json
      X-Signature: ${signature(BODY, "abc123")}
      X-Switchyard-Message-Id: m1
      X-Team: crm
      ${BODY}
    endpoint hook[2] crm.example.com
    POST https://crm.example.com/b
      User-Agent: Switchyard/1.0
      Content-Type: application/json
      X-Signature: ${signature(BODY, "abc123")}
      X-Switchyard-Message-Id: m1
      ${BODY}
  mail (Mail) does not get it: integrations exclude All, and do not name Mail
  off (Off) does not get it: it is disabled, and the call is not delivered later either
  warehouse (Warehouse) does not get it: integrations exclude All, and do not name Warehouse

`,
  );
});

test("--source is the source of every line, before what a line names", async () => {
  const { out } = await explain(JSON.stringify({ ...CALL, writeKey: "k-web" }), [
    "--source",
    "ios",
  ]);
  expect(out).toContain("source      ios (by the header source-id)");
});

test("a source that is not configured is wrong usage", async () => {
  await expect(explain("", ["--source", "tv"])).rejects.toThrow(
    'no source has the ID "tv". Configured sources: web, ios.',
  );
});

test.each([
  [
    {},
    "warehouse (Warehouse) gets it: the source is connected to it, and integrations do not exclude",
  ],
  [
    { integrations: { Warehouse: false } },
    "warehouse (Warehouse) does not get it: integrations exclude",
  ],
  [{ writeKey: "k-ios" }, "hook (Webhooks) does not get it: the source ios is not connected to it"],
  [{ writeKey: "k-ios" }, "source      ios (by its writeKey)"],
  [{ sourceId: "ios" }, "source      ios (by its sourceId)"],
  [{}, "its timestamp is the time of receipt, because historical is false"],
  [{ messageId: null }, "message id  none: it becomes <topic>/<partition>/<offset>"],
  [
    { timestamp: "?", receivedAt: "2026-03-01" },
    "time        2026-03-01T00:00:00.000Z (its receivedAt; its timestamp cannot be read, see docs/calls.md#timestamps)",
  ],
  [{ timestamp: null, originalTimestamp: "2026-03-01" }, "(its originalTimestamp)"],
  [{ timestamp: null }, "(the time at which the record is written; here, the current time)"],
  [{ userId: "\u001b[2J" }, 'key         "\\u001b[2J"'],
])("what %j changes is reported", async (more, reported) => {
  expect((await explain(JSON.stringify({ ...CALL, ...more }))).out).toContain(reported);
});

test("a line that is no call is shown with its dead letter, and the next one continues", async () => {
  const lines = ["{", '{"type":"purchase"}', "", JSON.stringify({ ...CALL, sourceId: "no" }), " "];
  const { out } = await explain(`${lines.join("\n")}\n${JSON.stringify(CALL)}\n`);
  expect(out).toContain("line 1  not a call\n  dead letter undecodable: the value is not JSON");
  expect(out).toContain('line 2  not a call\n  dead letter invalid-call: type is "purchase"');
  expect(out).toContain("line 4  not a call\n  dead letter unknown-source: ");
  expect(out).toContain("line 6  track\n");
});

test("a line that no record can hold is too large", async () => {
  const { out } = await explain(JSON.stringify({ ...CALL, x: "x".repeat(1_024 * 1_024) }));
  expect(out).toContain("dead letter too-large: the line has more than 1048576 bytes");
});

test("a file is read, and one that is not there is an error", async () => {
  const file = join(folder, "calls.jsonl");
  writeFileSync(file, JSON.stringify(CALL));
  expect((await explain("", [file])).out).toContain("line 1  track");
  await expect(explain("", [join(folder, "none")])).rejects.toThrow("cannot be read");
});

test("the sample calls are read as they are meant", async () => {
  const { out } = await explain("", [
    join(import.meta.dirname, "../../../../../examples/calls.jsonl"),
  ]);
  const heads = out.split("\n").filter((line) => line.startsWith("line "));
  expect(heads.map((head) => head.replace(/^line \d+ +/, ""))).toEqual([
    "page",
    "alias",
    "identify",
    "track",
    "group",
    "screen",
    "track",
    "not a call",
    "track",
    "track",
    "track",
    "page",
  ]);
});

const BATCHES = `
kafka: { brokers: ["127.0.0.1:1"] }
sources: [{ id: web, writeKey: k-web, destinations: [list, lines, single] }]
defaultSource: web
destinations:
  - id: list
    type: webhook
    name: List
    sharedSecret: abc123
    messageIdHeader: true
    attemptHeader: true
    endpoints: [{ url: "https://crm.example.com/batch", headers: { X-Team: crm } }]
    batch: { calls: 2 }
  - id: lines
    type: webhook
    name: Lines
    endpoints: [{ url: "https://lake.example.com/in" }]
    batch: { calls: 1000, format: ndjson }
  - { id: single, type: webhook, name: Single, endpoints: [{ url: "https://single.example.com/" }] }
`;

function withIds(messageIds: readonly string[], integrations: object): string {
  return messageIds
    .map((messageId) => JSON.stringify({ ...CALL, messageId, integrations }))
    .join("\n");
}

test("the batches that the calls make are shown with their requests", async () => {
  writeFileSync(join(folder, "switchyard.yaml"), BATCHES);
  const { out } = await explain(withIds(["m1", "m2", "m3"], { All: false, List: true }));
  expect(out).toContain("topic switchyard.deliveries.list\n    sent in a batch, shown below\n");
  const request = (ids: string, attempts: string, body: string, calls: number) => `
    endpoint list[1] crm.example.com
    POST https://crm.example.com/batch
      User-Agent: Switchyard/1.0
      Content-Type: application/json
      X-Signature: ${signature(body, "abc123")}
      X-Switchyard-Message-Id: ${ids}
      X-Switchyard-Attempt: ${attempts}
      X-Switchyard-Batch: ${calls}
      X-Team: crm
      ${body}

`;
  expect(out.slice(out.indexOf("list  batch of"))).toBe(
    `list  batch of lines 1-2${request("m1,m2", "1,1", `[${BODY},${BODY}]`, 2)}` +
      `list  batch of line 3${request("m3", "1", `[${BODY}]`, 1)}`,
  );
});

test("lines of a body are shown as lines, and calls of other destinations as before", async () => {
  writeFileSync(join(folder, "switchyard.yaml"), BATCHES);
  const calls = withIds(["m1", "m2"], { All: false, Lines: true, Single: true });
  const { out } = await explain(`${calls}\n{\n${withIds(["m4"], { All: false, Lines: true })}`);
  expect(out).toContain(`lines  batch of lines 1-2, 4\n`);
  expect(out).toContain(
    `      X-Switchyard-Batch: 3\n      ${BODY}\n      ${BODY}\n      ${BODY}\n\n`,
  );
  expect(out.match(/POST https:\/\/single\.example\.com\//g)).toHaveLength(2);
});

test("--json has a line for each batch, and many calls keep their batches", async () => {
  writeFileSync(join(folder, "switchyard.yaml"), BATCHES);
  const ids = Array.from({ length: 2_301 }, (_, at) => `m${at + 1}`);
  const { out } = await explain(withIds(ids, { All: false, Lines: true }), ["--json"]);
  const printed = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const calls = printed.filter((each) => "line" in each);
  expect(calls).toHaveLength(2_301);
  expect(calls[0].destinations[1]).toMatchObject({ id: "lines", first: { kind: "batch" } });
  const batches = printed.filter((each) => "batch" in each).map(({ batch }) => batch);
  expect(batches.map(({ lines }) => [lines.length, lines[0], lines.at(-1)])).toEqual([
    [1_000, 1, 1_000],
    [1_000, 1_001, 2_000],
    [301, 2_001, 2_301],
  ]);
  expect(batches[2].requests[0].body).toBe(`${BODY}\n`.repeat(301));
});
