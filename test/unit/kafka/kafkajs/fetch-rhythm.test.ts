// The tables of src/kafka/kafkajs/fetch-rhythm.ts.

import { expect, test } from "vitest";

import { beginsInMs, brokerWaitsMs } from "../../../../src/kafka/kafkajs/fetch-rhythm.ts";

const never = Number.NEGATIVE_INFINITY;
const any = Number.POSITIVE_INFINITY;

test.each([
  ["never asked", never, never, 3, 0],
  ["asked a moment ago", 100, 101, 0, 9],
  ["asked a moment ago, many partitions", 100, 101, 3_000, 39],
  ["asked long ago, answered now", 0, 100.5, 3, 0.5],
  ["asked and answered long ago", 0, 10, 3, 0],
])("%s", (_, beganAtMs, answeredAtMs, partitions, expected) => {
  expect(beginsInMs({ beganAtMs, answeredAtMs, partitions }, 101)).toBeCloseTo(expected);
});

test.each([
  ["everybody is in", true, 0, any, 1_000],
  ["everybody is in, one waits for less", true, 0, 250.5, 250],
  ["somebody has just had records", false, 3, any, 10],
  ["somebody is busy for a while", false, 300, any, 300],
  ["somebody is busy for long", false, 60_000, any, 1_000],
  ["one asks for what is there", false, 300, 0, 0],
])("%s", (_, isEverybodyIn, quietMs, wishedMs, expected) => {
  expect(brokerWaitsMs({ isEverybodyIn, quietMs, wishedMs })).toBe(expected);
});
