// Data with control characters for the terminal, in the output of commands.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { table } from "../../../../src/base/words/table.ts";
import type { EndpointKey } from "../../../../src/domain/ids.ts";
import { audienceTable } from "../../../../src/operator/look/audiences.ts";
import { statusText } from "../../../../src/operator/look/text.ts";
import { runProgram } from "../../../../src/program/cli/program.ts";
import { publish } from "../../../../src/program/cli/publish/publish.ts";
import { SMALL } from "../../../support/build/config-source.ts";
import {
  destinationReport,
  processReport,
  statusReportOf,
} from "../../../support/build/status-report.ts";
import { type FakeShell, fakeShell } from "../../../support/worlds/fake-shell.ts";

/**
 * Clears the screen with C0 and with C1 characters, deletes, changes the reading direction, returns the cursor, and
 * rings the bell.
 */
const EVIL = "x\u001b[2J\u009b2J\u007f\u202e\u2066\r\u0007";
const AT = "2026-03-01T09:30:15Z";
const CONTROL = /(?!\n)[\p{Cc}\p{Bidi_Control}]/u;

const folder = mkdtempSync(join(tmpdir(), "switchyard-terminal-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function printedBy({ output, errors }: FakeShell): string {
  const printed = `${output()}${errors()}`;
  expect(printed).not.toMatch(CONTROL);
  return printed;
}

test("explain", async () => {
  const call = {
    type: "track",
    sourceId: "web",
    userId: EVIL,
    event: EVIL,
    messageId: EVIL,
    properties: { [EVIL]: 1 },
  };
  const lines = [call, { type: EVIL }].map((line) => `${JSON.stringify(line)}\n`);
  const shell = fakeShell(lines);
  await runProgram(["explain", "-c", file("good.yaml", SMALL)], shell);
  // The JSON body stays unchanged.
  const [, body = ""] = /^ {6}(\{.*\})$/m.exec(printedBy(shell)) ?? [];
  expect(JSON.parse(body)).toMatchObject({ event: EVIL, properties: { [EVIL]: 1 } });
});

test("publish", async () => {
  const shell = fakeShell();
  async function* input() {
    yield Buffer.from(`${JSON.stringify({ type: EVIL, userId: "u" })}\n{"type":"${EVIL}\n`);
  }
  const { signal } = new AbortController();
  const producer = { send: async () => [], close: async () => undefined };
  const names = { topic: "calls", headers: [], sources: [], defaultSource: null };
  await publish({ ...names, input: input(), producer, signal, shell });
  expect(printedBy(shell)).toContain("0 calls written, 2 lines rejected");
});

test("config check", async () => {
  const shell = fakeShell();
  const source = `${SMALL}\n${JSON.stringify(EVIL)}: 1\nlog: { level: ${JSON.stringify(EVIL)} }`;
  await runProgram(["config", "check", "-c", file("bad.yaml", source)], shell);
  expect(printedBy(shell)).toContain("2 problems");
});

test("an error", async () => {
  const shell = fakeShell();
  expect(await runProgram(["sign", "--secret", "s", join(folder, EVIL)], shell)).toBe(1);
  expect(printedBy(shell)).toContain("cannot be read");
});

test("tables, audiences and the status", () => {
  const shell = fakeShell();
  shell.out(table(["HEAD"], [[EVIL]]));
  const audience = {
    id: EVIL,
    name: EVIL,
    key: EVIL,
    partition: 0,
    first: 0,
    claim: 0,
    members: 0,
  };
  shell.out(audienceTable([{ ...audience, openSyncId: EVIL, last: null, awaitingApproval: null }]));
  const deadLetters = { retained: 1, lastDay: 1, byReason: { [EVIL]: 1 }, replayed: 0 };
  const last = { at: AT, outcome: "retry", cause: EVIL, endpoint: EVIL } as const;
  const unavailable = {
    failingSince: null,
    failedShare: null,
    unavailable: null,
    circuit: null,
    last,
  };
  const endpoint = { name: EVIL, id: EVIL as EndpointKey, origin: EVIL, ...unavailable };
  const destination = { destination: EVIL, note: EVIL, last, endpoints: [endpoint] };
  const evil = { error: EVIL, configHash: EVIL, version: EVIL };
  const report = statusReportOf({
    ...{ at: AT, kafkaError: EVIL, deadLetters, unknown: [EVIL] },
    destinations: [destinationReport(destination)],
    notes: { awaitingRetry: EVIL, deadLetters: EVIL },
    processes: [processReport(evil)],
  });
  shell.out(statusText(report, shell.colors));
  expect(printedBy(shell)).toContain("x\\u001b[2J\\u009b2J");
});

test("columns line up with what is shown", () => {
  const [head = "", row = ""] = table(["A", "B"], [["\u009b", "b"]]).split("\n");
  expect(head.indexOf("B")).toBe(row.indexOf("b", 6));
});
