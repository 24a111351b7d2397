// Instants are parsed and formatted with the same results as with Date, but faster.

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  asIsoTimestamp,
  isoTimestamp,
  isoTimestamps,
  readTimestamp,
} from "../../../src/domain/timestamp.ts";

const FIRST_MS = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");
const instant = fc.integer({ min: FIRST_MS, max: LAST_MS });
const near = fc.integer({ min: -100_000_000, max: 100_000_000 });

test("any instant is written as Date writes it, and read back", () => {
  const write = isoTimestamps();
  fc.assert(
    fc.property(instant, near, (first, step) => {
      // The second instant may be on the same day, in the same second, or neither.
      for (const atMs of [first, Math.min(LAST_MS, Math.max(FIRST_MS, first + step))]) {
        const text = new Date(atMs).toISOString();
        expect(write(atMs)).toBe(text);
        expect(readTimestamp(text)).toBe(atMs);
        expect(asIsoTimestamp(text)).toBe(text);
      }
    }),
  );
});

const part = (max: number) => fc.integer({ min: 0, max }).map((number) => `${number}`);
const anyForm = fc
  .tuple(part(9_999), part(13), part(32), part(25), part(61), part(61), part(999))
  .map(([year, month, day, hour, minute, second, ms]) => {
    const date = [year.padStart(4, "0"), month.padStart(2, "0"), day.padStart(2, "0")].join("-");
    const time = [hour, minute, second].map((each) => each.padStart(2, "0")).join(":");
    return `${date}T${time}.${ms.padStart(3, "0")}Z`;
  });

test("what looks like an instant is read only if it is one", () => {
  fc.assert(
    fc.property(anyForm, (text) => {
      const atMs = readTimestamp(text);
      const isEndOfDay = text.includes("T24:00:00.000");
      if (atMs !== null && !isEndOfDay) expect(new Date(atMs).toISOString()).toBe(text);
      expect(asIsoTimestamp(text)).toBe(atMs === null ? null : isoTimestamp(atMs));
      const day = Date.parse(`${text.slice(0, 10)}T00:00:00.000Z`);
      const isDay =
        !Number.isNaN(day) && new Date(day).toISOString().slice(0, 10) === text.slice(0, 10);
      const [hour, minute, second] = text.slice(11, 19).split(":").map(Number);
      const isTime = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
      if (!isEndOfDay) expect(atMs !== null).toBe(isDay && isTime);
    }),
  );
});
