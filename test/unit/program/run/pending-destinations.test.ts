// The table of reload.ts, row by row.

import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { heldBack } from "../../../../src/program/run/reload.ts";
import { config } from "../../../support/build/config-source.ts";

const URL = 'endpoints: [{ url: "https://a.example.com/" }]';
const yaml = (destinations: readonly string[], connected: string) => `
kafka: { brokers: [kafka-1:9092] }
sources: [{ id: web, destinations: [${connected}] }]
destinations: [${destinations.join(", ")}]
`;
const running = config(yaml(["{ id: a, type: topic, name: A }"], "a"));
const wanted = config(
  yaml([`{ id: new, type: webhook, ${URL} }`, `{ id: a, type: webhook, ${URL} }`], "new, a"),
);
const ids = (names: readonly string[]) => new Set(names as readonly DestinationId[]);

test("when none waits it is the configuration itself", () => {
  expect(heldBack(running, wanted, ids([]))).toBe(wanted);
});

test("a new one that waits is omitted, also of its sources", () => {
  const next = heldBack(running, wanted, ids(["new"]));
  expect(next.destinations).toEqual([wanted.destinations[1]]);
  expect(next.sources.map(({ destinations }) => destinations)).toEqual([["a"]]);
});

test("one of another type that waits is as it runs", () => {
  const next = heldBack(running, wanted, ids(["a"]));
  expect(next.destinations).toEqual([wanted.destinations[0], running.destinations[0]]);
  expect(next.sources).toEqual(wanted.sources);
});
