// Laws of parsing what producers send.

import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeValue } from "../../../src/domain/decode.ts";
import { isJsonObject } from "../../../src/domain/json.ts";
import { parseCall } from "../../../src/domain/parse-call.ts";
import { isoTimestamp, isWritable, readTimestamp } from "../../../src/domain/timestamp.ts";
import { payload } from "../../../src/router/destinations/webhook/payload.ts";
import { anyJson, anyValue, validCall } from "../../support/build/generated-calls.ts";
import { costlyInputs, GENERATED_INPUTS } from "../../support/build/generated-inputs.ts";
import { recordValue } from "../../support/build/record-value.ts";

const numRuns = GENERATED_INPUTS;
/** For laws of whole calls, which take a long time to generate. */
const numCalls = costlyInputs(10);
const TIME_LIMIT_MS = 300_000;

test(
  "reading never throws, whatever the bytes",
  () => {
    const check = (value: Buffer | null) => {
      const decoded = decodeValue(recordValue(value));
      if (decoded.kind === "refused") {
        expect(["undecodable", "unknown-schema"]).toContain(decoded.reason);
        return;
      }
      const parsed = parseCall(decoded.json);
      if (parsed.kind === "refused") expect(parsed.reason).toBe("invalid-call");
      else expect(isJsonObject(decoded.json)).toBe(true);
      // The size only decides whether the nesting has to be checked.
      expect(parseCall(decoded.json, value?.length)).toEqual(parsed);
    };
    fc.assert(fc.property(anyValue, check), { numRuns });
  },
  TIME_LIMIT_MS,
);

test(
  "what has every field right is a call, and keeps its fields",
  () => {
    const check = (json: { readonly type: string; readonly userId: string | number }) => {
      const parsed = parseCall(json);
      expect(parsed).toMatchObject({ kind: "call", call: { type: json.type } });
      if (parsed.kind === "call") expect(parsed.call.userId).toBe(`${json.userId}`);
    };
    fc.assert(fc.property(validCall, check), { numRuns: numCalls });
  },
  TIME_LIMIT_MS,
);

test(
  "a body survives JSON.parse and JSON.stringify, so that a receiver can check its signature",
  () => {
    const times = { messageId: "m" as never, timestampMs: 0, receivedAtMs: 1 };
    const check = (json: unknown, shape: "standard" | "full") => {
      const parsed = parseCall(JSON.parse(JSON.stringify(json)));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const body = payload(parsed.call, times, shape);
      expect(JSON.stringify(JSON.parse(body))).toBe(body);
      // No character of it is replaced when it is converted to bytes.
      expect(Buffer.from(body).toString()).toBe(body);
    };
    const shape = fc.constantFrom("standard", "full");
    fc.assert(fc.property(validCall, shape, check), { numRuns: numCalls });
  },
  TIME_LIMIT_MS,
);

test(
  "a timestamp that is read can be written, and reads the same again",
  () => {
    const check = (value: unknown) => {
      const atMs = readTimestamp(value);
      if (atMs === null) return;
      expect(isWritable(atMs)).toBe(true);
      expect(readTimestamp(isoTimestamp(atMs))).toBe(atMs);
    };
    const digits = fc.stringMatching(
      /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d*)?)?([Zz]|[+-]\d\d:?\d\d)?$/,
    );
    const any = fc.oneof(anyJson, digits, fc.double({ min: 1e11, max: 1e16 }));
    fc.assert(fc.property(any, check), { numRuns });
  },
  TIME_LIMIT_MS,
);

test(
  "every instant is read in every form",
  () => {
    // This is one day inside the years 0 to 9999, so that local times are also within these years.
    const instant = fc.integer({ min: -62_167_132_800_000, max: 253_402_214_400_000 });
    const offset = fc.integer({ min: -1_439, max: 1_439 });
    const colon = fc.constantFrom("", ":");
    const separator = fc.constantFrom("T", "t", " ");
    const digits = fc.stringMatching(/^\d*$/);
    const check = (atMs: number, minutes: number, ...[sep, extra, between]: string[]) => {
      // The local time at the offset, as Date formats it if the offset is added first.
      const local = new Date(atMs + minutes * 60_000).toISOString().slice(0, -1);
      const two = (value: number) => `${Math.floor(value)}`.padStart(2, "0");
      const size = Math.abs(minutes);
      const zone = `${minutes < 0 ? "-" : "+"}${two(size / 60)}${between}${two(size % 60)}`;
      expect(readTimestamp(`${local.replace("T", `${sep}`)}${extra}${zone}`)).toBe(atMs);
    };
    fc.assert(fc.property(instant, offset, separator, digits, colon, check), { numRuns });
  },
  TIME_LIMIT_MS,
);
