// The table of src/kafka/fetch/silence.ts.

import { expect, test } from "vitest";

import { type FetchObservation, FetchSilence } from "../../../../src/kafka/fetch/silence.ts";

const EVERY_MS = 2_500;
const WAITING: FetchObservation = {
  requestNumber: 7,
  bytesRead: 100,
  hasPending: false,
  respondedAtMs: 0,
};

/** Returns the findings of consecutive checks. */
function findings(
  count: number,
  sightAt: (look: number) => Partial<FetchObservation>,
  everyMs = EVERY_MS,
) {
  const silence = new FetchSilence();
  return Array.from({ length: count }, (_, look) =>
    silence.look({ ...WAITING, ...sightAt(look) }, look * everyMs),
  );
}

test("a request without a byte of its response for 10 s is silent, and so is the one after it", () => {
  const found = findings(12, (look) => ({ requestNumber: look < 5 ? 1 : 2 }));
  const silent = found.flatMap((finding, look) => (finding === "silent" ? [look] : []));
  expect(silent).toEqual([4, 9]);
});

test.each<[string, (look: number) => Partial<FetchObservation>]>([
  ["requests that get responses", (look) => ({ requestNumber: look })],
  ["no request", () => ({ requestNumber: null, respondedAtMs: 1e9 })],
  ["a response that comes slowly", (look) => ({ bytesRead: look })],
  ["a request that a quota holds back", () => ({ hasPending: true })],
])("%s: nothing", (_name, sightAt) => {
  expect(new Set(findings(100, sightAt))).toEqual(new Set(["nothing"]));
});

test("looks that come late find nothing", () => {
  expect(findings(20, () => ({}), 20_000)).not.toContain("silent");
});

test("it is over with a response, or when nobody fetches any more", () => {
  const silence = new FetchSilence();
  for (let look = 0; look < 5; look += 1) silence.look(WAITING, look * EVERY_MS);
  expect([silence.recordResponse(), silence.recordResponse()]).toEqual([true, false]);
  const unused = findings(30, (look) =>
    look < 5 ? {} : { requestNumber: null, respondedAtMs: 10_000 },
  );
  expect(unused.filter((finding) => finding === "unused")).toHaveLength(1);
  expect(unused.indexOf("unused") * EVERY_MS).toBeGreaterThan(30_000);
});
