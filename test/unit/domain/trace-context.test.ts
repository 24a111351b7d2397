import fc from "fast-check";
import { expect, test } from "vitest";

import {
  keptTraceOf,
  parseTrace,
  traceHeaders,
  traceOf,
  traceParent,
  withTrace,
} from "../../../src/domain/trace-context.ts";
import { aTrace } from "../../support/build/recorded-spans.ts";

const T = "0af7651916cd43dd8448eb211c80319c";
const S = "b7ad6b7169203331";

test.each([
  ["kept", `00-${T}-${S}-01`, true],
  ["not kept", `00-${T}-${S}-00`, false],
  ["other flags, and kept", `00-${T}-${S}-03`, true],
  ["a later version", `01-${T}-${S}-01`, true],
  ["a later version with more", `cc-${T}-${S}-01-what-comes`, true],
])("%s", (_name, text, isSampled) => {
  expect(parseTrace(text, null)).toEqual({ traceId: T, spanId: S, isSampled, state: null });
});

test.each([
  ["nothing", ""],
  ["upper case", `00-${T.toUpperCase()}-${S}-01`],
  ["no trace id", `00-${"0".repeat(32)}-${S}-01`],
  ["no span id", `00-${T}-${"0".repeat(16)}-01`],
  ["a version that cannot be", `ff-${T}-${S}-01`],
  ["more than version 00 has", `00-${T}-${S}-01-more`],
  ["more without a dash", `01-${T}-${S}-01more`],
  ["too short an id", `00-${T.slice(1)}-${S}-01`],
  ["a blank in front", ` 00-${T}-${S}-01`],
])("no trace context: %s", (_name, text) => {
  expect(parseTrace(text, null)).toBeNull();
});

test.each([
  ["is passed on", "congo=t61rcWkgMzE", "congo=t61rcWkgMzE"],
  ["is left out when it is longer than senders pass on", "a".repeat(513), null],
  ["is left out when it is empty", "", null],
])("tracestate %s", (_name, given, state) => {
  expect(parseTrace(`00-${T}-${S}-01`, given)?.state).toBe(state);
});

test("headers of a trace are read as the same trace", () => {
  const hex = (digits: number) =>
    fc
      .string({
        unit: fc.constantFrom(..."0123456789abcdef"),
        minLength: digits,
        maxLength: digits,
      })
      .filter((text) => /[^0]/.test(text));
  const state = fc.option(fc.constantFrom("a=1", "b=2,c=3"));
  fc.assert(
    fc.property(hex(32), hex(16), fc.boolean(), state, (traceId, spanId, isSampled, given) => {
      const trace = { traceId, spanId, isSampled, state: given };
      expect(traceOf({ headers: traceHeaders(trace) })).toEqual(trace);
    }),
  );
});

test("a trace is kept if its flags say so, however they are written", () => {
  const parent = fc.oneof(
    fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-x)?$/),
    fc.stringMatching(/^.{50,60}$/),
  );
  fc.assert(
    fc.property(parent, (text) => {
      const record = { headers: [["traceparent", Buffer.from(text)]] as const };
      const trace = traceOf(record);
      const kept = keptTraceOf(record);
      if (trace?.isSampled === true) expect(kept).toEqual(trace);
      else if (trace !== null) expect(kept).toBe("not-kept");
      else expect(kept === null || kept === "not-kept").toBe(true);
    }),
  );
  expect(keptTraceOf({ headers: [] })).toBeNull();
});

test("a record's trace takes the place of the one before, and all else stays", () => {
  const before = [
    ["a", Buffer.from("1")],
    ...traceHeaders(aTrace({ state: "x=1" })),
    ["b", null],
  ] as const;
  const after = aTrace({ spanId: "c".repeat(16) });
  const headers = withTrace(before, after);
  expect(headers.map(([name]) => name)).toEqual(["a", "b", "traceparent"]);
  expect(traceOf({ headers })).toEqual(after);
  expect(withTrace(before, null)).toBe(before);
});

test("bytes that are no text are no trace", () => {
  expect(traceOf({ headers: [["traceparent", Buffer.from([0xff, 0xfe])]] })).toBeNull();
  expect(traceOf({ headers: [["traceparent", null]] })).toBeNull();
  expect(traceOf({ headers: [] })).toBeNull();
  expect(traceParent(aTrace({ isSampled: false }))).toMatch(/-00$/);
});
