// Publishing reads lines, writes records, and reports rejected lines with their numbers.

import { expect, test } from "vitest";
import type { Clock } from "../../../../../src/base/runtime/clock.ts";
import type { Source } from "../../../../../src/domain/destination.ts";
import type { SourceId } from "../../../../../src/domain/ids.ts";
import type { OutgoingRecord } from "../../../../../src/domain/record.ts";
import {
  type BlockedTopic,
  ClosedError,
  type Producer,
  type WatchedProducer,
} from "../../../../../src/kafka/port.ts";
import { commandProducer } from "../../../../../src/operator/connect/command-producer.ts";
import { linesOf } from "../../../../../src/program/cli/input.ts";
import { publish } from "../../../../../src/program/cli/publish/publish.ts";
import { suppressing } from "../../../../support/build/suppressions.ts";
import { clockDriver } from "../../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../../support/clock/manual-clock.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

async function* chunks(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function lines(maxBytes: number, ...texts: readonly string[]) {
  const found: string[] = [];
  for await (const some of linesOf(chunks(...texts), maxBytes)) {
    for (const { number, bytes } of some) found.push(`${number} ${bytes?.toString()}`);
  }
  return found;
}

test.each([
  [["a\nb\n"], ["1 a", "2 b"]],
  [["a\nb"], ["1 a", "2 b"]],
  [
    ["a", "b\nc", "\n"],
    ["1 ab", "2 c"],
  ],
  [["a\r\nb\r\n"], ["1 a\r", "2 b\r"]],
  [["\n \n\ta\n\r\n"], ["3 \ta"]],
  [["a\n123456789\nb"], ["1 a", "2 undefined", "3 b"]],
  [
    ["1234", "5678", "9\nb"],
    ["1 undefined", "2 b"],
  ],
  [["12345678"], ["1 12345678"]],
  [["Caf", "é"], ["1 Café"]],
  [[""], []],
  [[], []],
])("%j has the lines %j", async (texts, expected) => {
  expect(await lines(8, ...texts)).toEqual(expected);
});

test("lines are handed over chunk by chunk, so that what is typed goes out at once", async () => {
  const typed = linesOf(chunks("a\n", "b", "\nc\n"), 8);
  const sizes: number[] = [];
  for await (const some of typed) sizes.push(some.length);
  expect(sizes).toEqual([1, 2]);
});

const SOURCES: readonly Source[] = [
  {
    id: "web" as SourceId,
    writeKeys: ["k1"],
    destinations: [],
    callsPerSecond: null,
    correctClock: true,
  },
];

interface Published {
  readonly status: number;
  readonly sent: readonly OutgoingRecord[];
  readonly out: string;
  readonly err: string;
}

async function run(
  input: AsyncIterable<Buffer>,
  more: Partial<Parameters<typeof publish>[0]> = {},
  isTooLarge: (record: OutgoingRecord) => boolean = () => false,
): Promise<Published> {
  const shell = fakeShell();
  const sent: OutgoingRecord[] = [];
  const producer: Producer = {
    send: async (records) => {
      sent.push(...records.filter((record) => !isTooLarge(record)));
      return records.filter(isTooLarge).map((record) => ({ record, error: "over 1 MiB" }));
    },
    close: async () => undefined,
  };
  const status = await publish({
    input,
    producer,
    topic: "calls",
    sources: SOURCES,
    defaultSource: null,
    headers: [["source-id", Buffer.from("web")]],
    signal: new AbortController().signal,
    shell,
    ...more,
  });
  return { status, sent, out: shell.output(), err: shell.errors() };
}

test("valid calls are written as they are, keyed by user, with the source", async () => {
  const one = '{"type":"track", "userId":"u1", "event":"Café"}';
  const two = '{"type":"identify","anonymousId":7}';
  const { status, sent, out } = await run(chunks(`${one}\n\n${two}\n`));
  expect(status).toBe(0);
  expect(out).toBe("2 calls written, 0 lines rejected (calls).\n");
  const headers = [["source-id", Buffer.from("web")]];
  expect(sent).toEqual([
    { topic: "calls", key: Buffer.from("u1"), value: Buffer.from(one), headers },
    { topic: "calls", key: Buffer.from("7"), value: Buffer.from(two), headers },
  ]);
});

test.each([
  ["nope", "undecodable: the value is not JSON"],
  ["\0\0\0\0\x01", "unknown-schema: "],
  ['{"type":"trck"}', 'invalid-call: type is "trck"'],
  ['{"type":"track","userId":"u"}', "invalid-call: "],
  ["[]", "invalid-call: "],
  [`{"type":"identify","userId":"${"u".repeat(1_100_000)}"}`, "too-large: "],
])("the line %.40s is rejected, and the others are written", async (line, error) => {
  const good = '{"type":"identify","userId":"u"}';
  const { status, sent, err, out } = await run(chunks(`${good}\n${line}\n${good}\n`));
  expect(status).toBe(1);
  expect(sent).toHaveLength(2);
  expect(err).toContain(`line 2 rejected: ${error}`);
  expect(out).toContain("2 calls written, 1 line rejected");
});

test("what the brokers find too large is rejected with its line", async () => {
  const good = '{"type":"identify","userId":"u"}';
  const large = '{"type":"identify","userId":"large"}';
  const isLarge = (record: OutgoingRecord) => record.key?.toString() === "large";
  const { status, err, out } = await run(chunks(`${good}\n${large}\n`), {}, isLarge);
  expect(status).toBe(1);
  expect(err).toBe("line 2 rejected: too-large: over 1 MiB\n");
  expect(out).toContain("1 call written, 1 line rejected");
});

test.each([
  ['{"type":"identify","userId":"u"}', null, 0],
  ['{"type":"identify","userId":"u","writeKey":"k1"}', null, 1],
  ['{"type":"identify","userId":"u","writeKey":"k2"}', null, 0],
  ['{"type":"identify","userId":"u","sourceId":"web"}', null, 1],
  ['{"type":"identify","userId":"u"}', "web" as SourceId, 1],
])(
  "without --source, %s with the default source %s: %i written",
  async (line, defaultSource, written) => {
    const { sent, err } = await run(chunks(line), { headers: [], defaultSource });
    expect(sent).toHaveLength(written);
    expect(sent.every(({ headers }) => headers.length === 0)).toBe(true);
    if (written === 0) expect(err).toContain("line 1 rejected: unknown-source: ");
  },
);

test("interrupted while it waits for input, it keeps what was read and says so", async () => {
  const controller = new AbortController();
  const waiting = Promise.withResolvers<never>();
  async function* typed(): AsyncGenerator<Buffer> {
    // The second line is incomplete.
    yield Buffer.from('{"type":"identify","userId":"u"}\n{"type":"iden');
    controller.abort("SIGINT");
    await waiting.promise;
  }
  const { status, sent, err } = await run(typed(), { signal: controller.signal });
  expect(status).toBe(1);
  expect(sent).toHaveLength(1);
  expect(err).toBe("Interrupted: the rest of the input was not read.\n");
});

/** Returns a producer that acknowledges nothing. */
function silent(blocked: readonly BlockedTopic[] = []): WatchedProducer {
  const closed = Promise.withResolvers<never>();
  return {
    blocked: () => blocked,
    send: () => closed.promise,
    close: async () => closed.reject(new ClosedError("the producer is closed")),
  };
}

/** Returns a producer that acknowledges records after 3 s. */
function slow(clock: Clock, blocked: readonly BlockedTopic[] = []): WatchedProducer {
  return {
    blocked: () => blocked,
    send: async () => {
      await clock.sleep(3_000, new AbortController().signal);
      return [];
    },
    close: async () => expect.unreachable(),
  };
}

/** Publishes calls in the same way as the command, with a separate clock. */
function commandWith(watchedOf: (clock: Clock) => WatchedProducer, calls = 1) {
  const clock = new ManualClock();
  const controller = new AbortController();
  const { signal } = controller;
  const shell = fakeShell();
  const producer = commandProducer({ producer: () => watchedOf(clock) }, shell, signal, clock);
  const input = chunks('{"type":"identify","userId":"u"}\n'.repeat(calls));
  const running = run(input, { producer, signal, shell });
  return { clock, controller, shell, running };
}

function forbidden(topic: string): readonly BlockedTopic[] {
  return [{ topic, sinceMs: 0, by: "forbidden", error: "Write is missing" }];
}

test("when Kafka acknowledges nothing, that is said, and Ctrl-C gives up", async () => {
  const { clock, controller, shell, running } = commandWith(() => silent(), 3);
  const explained = "Kafka has not acknowledged the records for 10 s; still trying.";
  await clock.advance(9_000);
  expect(shell.errors()).toBe("");
  await clock.advance(1_000);
  expect(shell.errors()).toContain(explained);
  controller.abort("SIGINT");
  const { status } = await clockDriver(clock).during(running);
  expect(status).toBe(1);
  expect(shell.output()).toBe("0 calls written, 0 lines rejected (calls).\n");
  expect(shell.errors()).toContain("lines 1 to 3: interrupted: the records in flight may or may");
  expect(shell.errors()).toContain("the rest of the input was not read");
});

test("without the right to write it ends at once, and says which", async () => {
  const { clock, shell, running } = commandWith(() => silent(forbidden("calls")));
  const { status } = await clockDriver(clock, { limitMs: 5_000 }).during(running);
  expect(status).toBe(1);
  expect(shell.output()).toBe("0 calls written, 0 lines rejected (calls).\n");
  expect(shell.errors()).toContain("lines 1 to 1: calls cannot be written: Write is missing");
});

test("a right that is missing for another topic does not end it", async () => {
  const { clock, running } = commandWith((own) => slow(own, forbidden("others")));
  expect((await clockDriver(clock).during(running)).status).toBe(0);
});

test("what is acknowledged soon after Ctrl-C counts as written", async () => {
  const { clock, controller, shell, running } = commandWith(slow);
  await clock.advance(0);
  controller.abort("SIGINT");
  await clockDriver(clock).during(running);
  await clock.advance(60_000);
  expect(shell.output()).toBe("1 call written, 0 lines rejected (calls).\n");
});

test("calls with a time that cannot be read are written and counted", async () => {
  const call = (time: unknown) => `{"type":"track","userId":"u","event":"E","timestamp":${time}}\n`;
  const input = [call('"yesterday"'), call("1772357415"), call("5"), call("null")];
  const text = await run(chunks(...input), {});
  expect(text.out).toBe("4 calls written, 0 lines rejected (calls).\n");
  expect(text.err).toContain("2 calls with a time that cannot be read, which is ignored");
  const { out, err } = await run(chunks(...input), { json: true });
  expect(JSON.parse(out)).toMatchObject({ kind: "outcome", written: 4, unreadTimes: 2 });
  expect(err).toBe("");
});

test("as JSON: a line for each refused one, then the outcome, and nothing on standard error", async () => {
  const valid = '{"type":"track","userId":"u1","event":"E"}\n';
  const { status, out, err } = await run(chunks(valid, "{\n", valid), { json: true });
  expect([status, err]).toEqual([1, ""]);
  const reported = out
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(reported).toEqual([
    { kind: "rejected", line: 2, error: expect.stringContaining("undecodable") },
    {
      kind: "outcome",
      topic: "calls",
      written: 2,
      rejected: 1,
      suppressed: 0,
      unreadTimes: 0,
      interrupted: false,
    },
  ]);
});

test("calls of suppressed users are skipped and counted; that is not a failure", async () => {
  const call = (userId: string) => `${JSON.stringify({ type: "page", userId })}\n`;
  const suppressions = suppressing("u1");
  const { status, sent, out } = await run(chunks(call("u1"), call("u2")), { suppressions });
  expect([status, sent.map(({ key }) => `${key}`)]).toEqual([0, ["u2"]]);
  expect(out).toBe(
    "1 call written, 0 lines rejected, 1 call of suppressed users skipped (calls).\n",
  );
});
