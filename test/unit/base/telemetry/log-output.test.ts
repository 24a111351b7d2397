// The table of log-output.ts, with a file that a test controls.

import { expect, test, vi } from "vitest";

import { LogOutput } from "../../../../src/base/telemetry/log-output.ts";

const failure = (code: string) => Object.assign(new Error(`${code}: it failed`), { code });

/** A file that does what the list says, one element for each write: accept bytes, or fail. */
function world(...results: (number | Error)[]) {
  const state = { written: "", results };
  const next = (bytes: Buffer) => {
    const result = state.results.shift() ?? bytes.length;
    if (typeof result !== "number") throw result;
    state.written += bytes.subarray(0, result).toString();
    return Math.min(result, bytes.length);
  };
  const pending: (() => void)[] = [];
  const output = new LogOutput({
    writeSync: next,
    write: (bytes, done) => {
      pending.push(() => {
        try {
          done(null, next(bytes));
        } catch (error) {
          done(error as Error, 0);
        }
      });
    },
  });
  /** Lets a thread finish the writes, until there are none. */
  const settle = () => {
    for (let one = pending.shift(); one !== undefined; one = pending.shift()) one();
  };
  const resumed: unknown[] = [];
  output.onResumed = (problem, lines) => resumed.push([problem, lines]);
  const write = (...lines: string[]) => output.write(Buffer.from(`${lines.join("\n")}\n`));
  return { output, write, state, settle, resumed, pending };
}

test("blocks are written in order, one at a time, and the rest of a block before the next", () => {
  const { write, state, settle, output, pending } = world(2, 1);
  write("first");
  write("second");
  expect(pending).toHaveLength(1);
  settle();
  expect(state.written).toBe("first\nsecond\n");
  expect([output.dropped, output.problem]).toEqual([0, null]);
});

test("a full pipe is tried again, and nothing is lost", () => {
  vi.useFakeTimers();
  try {
    const { write, state, settle, output } = world(3, failure("EAGAIN"), failure("EAGAIN"));
    write("first");
    settle();
    write("second");
    expect(state.written).toBe("fir");
    for (let round = 0; round < 2; round += 1) {
      vi.advanceTimersByTime(10);
      settle();
    }
    expect(state.written).toBe("first\nsecond\n");
    expect(output.dropped).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test.each([["ENOSPC"], ["EPIPE"], ["EIO"]])(
  "after %s, lines are dropped and counted until one can be written, which is told",
  (code) => {
    const { write, state, settle, output, resumed } = world(failure(code), failure(code));
    write("one", "two");
    write("three");
    settle();
    expect([output.dropped, output.problem]).toEqual([3, `${code}: it failed`]);
    write("four");
    settle();
    expect([output.dropped, resumed]).toEqual([4, []]);
    write("five");
    settle();
    expect(state.written).toBe("five\n");
    expect([output.dropped, output.problem]).toEqual([4, null]);
    expect(resumed).toEqual([[`${code}: it failed`, 4]]);
  },
);

test("after a line that was cut, the next line starts on a new line", () => {
  const { write, state, settle, output } = world(3, failure("ENOSPC"), failure("ENOSPC"));
  write("first", "second");
  settle();
  write("third");
  settle();
  expect(output.dropped).toBe(3);
  write("fourth");
  settle();
  expect(state.written).toBe("fir\nfourth\n");
  expect(output.dropped).toBe(3);
});

test("no more than 4 MiB wait for a slow reader, and what exceeds them is counted", () => {
  const { write, state, settle, output, resumed } = world();
  const line = "x".repeat(1_048_576 - 1);
  for (let block = 0; block < 4; block += 1) write(line);
  write("a", "b");
  expect(output.dropped).toBe(2);
  expect(output.problem).toBe("it is not read fast enough");
  settle();
  expect(state.written).toHaveLength(4 * 1_048_576);
  expect(resumed).toEqual([["it is not read fast enough", 2]]);
});

test("at the end of the process, what waits is written at once, except what a thread is writing", () => {
  const { write, output, state } = world(failure("EAGAIN"));
  for (const line of ["in the thread", "second", "third"]) write(line);
  output.flushSync();
  expect(state.written).toBe("second\nthird\n");
});

test("the end of the process does not wait for an output that fails or stays full", async () => {
  const full = world(...Array.from({ length: 3 }, () => failure("ENOSPC")));
  for (const line of ["in the thread", "second"]) full.write(line);
  full.output.flushSync();
  expect(full.state.written).toBe("");

  vi.useFakeTimers();
  try {
    const stuck = world(...Array.from({ length: 10_000 }, () => failure("EAGAIN")));
    stuck.write("first");
    stuck.settle();
    let isFlushed = false;
    const flushed = stuck.output.flush().then(() => {
      isFlushed = true;
    });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(isFlushed).toBe(false);
    await vi.advanceTimersByTimeAsync(2);
    await flushed;
    stuck.output.flushSync();
    expect(stuck.state.written).toBe("");
  } finally {
    vi.useRealTimers();
  }
});
