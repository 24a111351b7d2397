import { beforeEach, expect, test } from "vitest";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import type { RejectedRecord } from "../../../../src/kafka/port.ts";
import { ProcessLedger } from "../../../../src/router/ledger/process-ledger.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

type Answer = "accepts" | "blocked" | "too large" | "closed" | "hangs";

let clock = new ManualClock();
let answer: Answer = "accepts";
/** The values that each send had. */
let sends: string[] = [];
let proceed: () => void = () => undefined;

const producer = {
  send: async (records: readonly OutgoingRecord[]): Promise<readonly RejectedRecord[]> => {
    sends.push(records.map(({ value }) => value?.toString().slice(0, 2)).join());
    if (answer === "closed") throw new Error("closed");
    if (answer === "hangs") await new Promise<void>((resolve) => (proceed = resolve));
    if (answer === "too large") return records.map((record) => ({ record, error: "too large" }));
    if (answer !== "blocked") return [];
    return records.map((record) => ({ record, error: "no", blocked: "missing" as const }));
  },
};

let ledger = new ProcessLedger({ producer, clock, topic: "ledger", process: "p" });

function record(value: string | Buffer): OutgoingRecord {
  return { topic: "ledger", key: null, value: Buffer.from(value), headers: [] };
}

beforeEach(() => {
  clock = new ManualClock();
  answer = "accepts";
  sends = [];
  ledger = new ProcessLedger({ producer, clock, topic: "ledger", process: "p" });
});

test("resolves when the records are acknowledged; what comes meanwhile is sent together", async () => {
  await Promise.all(["a", "b", "c"].map((value) => ledger.write([record(value)])));
  expect(sends).toEqual(["a", "b,c"]);
});

test("records wait for a topic that rejects them, and keep their order", async () => {
  answer = "blocked";
  await ledger.write([record("a")]);
  await ledger.write([record("b")]);
  expect(sends).toEqual(["a"]);
  answer = "accepts";
  await clock.advance(2_000);
  await ledger.write([record("c")]);
  expect(sends).toEqual(["a", "a,b,c"]);
});

test("nobody waits longer than two seconds for a topic that does not respond, and then nobody waits", async () => {
  answer = "hangs";
  let hasResolved = false;
  const first = ledger.write([record("a")]).then(() => {
    hasResolved = true;
  });
  await clock.advance(1_999);
  expect(hasResolved).toBe(false);
  await clock.advance(1);
  await first;
  await ledger.write([record("b")]);
  expect(sends).toEqual(["a"]);
  answer = "accepts";
  proceed();
  await clock.advance(0);
  await ledger.write([record("c")]);
  expect(sends.join(" ")).toBe("a b c");
});

test("more than 16 MiB do not wait: the oldest are dropped, which is a health problem", async () => {
  answer = "blocked";
  await ledger.write([record("a")]);
  const large = Buffer.alloc(5 * 1_024 * 1_024, "x");
  for (const first of ["b", "c", "d", "e"]) {
    large.write(`${first}!`);
    await ledger.write([record(large)]);
  }
  expect(ledger.healthProblems()).toEqual([
    "2 records of ledger were dropped, because the topic was not writable: an audit of this time is incomplete",
  ]);
  answer = "accepts";
  await clock.advance(2_000);
  await ledger.write([record("f")]);
  expect(sends.at(-1)).toBe("c!,d!,e!,f");
});

test.each<Answer>(["closed", "too large"])(
  "nothing is sent again if the producer is %s",
  async (given) => {
    answer = given;
    await ledger.write([record("a")]);
    answer = "accepts";
    await ledger.write([record("b")]);
    expect(sends).toEqual(["a", "b"]);
    expect(ledger.healthProblems().length).toBe(given === "closed" ? 0 : 1);
  },
);
