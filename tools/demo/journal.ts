/**
 * Records what has happened to each call of the demonstration, and whether everything expected has happened. The
 * expectations are written by hand (expected.ts), because expectations computed with the router's own code would prove
 * nothing.
 */

import { counted } from "../../src/base/words/count.ts";
import type { ExpectedCall } from "./expected.ts";

export interface Arrival {
  readonly destination: string;
  readonly messageId: string;
  /** `webhook`: a receiver accepted it; `topic`: it was read from the destination's topic. */
  readonly by: "webhook" | "topic";
  readonly verified: boolean;
}

export interface DestinationTotals {
  readonly destination: string;
  readonly expected: number;
  /** How many of the expected calls result from the audience. */
  readonly ofAudience: number;
  readonly arrived: number;
  readonly failedAttempts: number;
  readonly retryCount: number;
  readonly verified: number;
  readonly unexpected: number;
}

export interface Journal {
  arrived(arrival: Arrival): void;
  failed(destination: string): void;
  retryCount(destination: string): void;
  deadLetter(reason: string): void;
  /** True when all expected calls and dead letters have arrived. */
  isComplete(): boolean;
  totals(): readonly DestinationTotals[];
  /** One sentence per problem; empty if there is none. */
  problems(): readonly string[];
}

export function createJournal(
  expected: readonly ExpectedCall[],
  expectedDeadLetters: readonly string[],
  /** How often each delivery to a destination must have failed before it was accepted. */
  failuresPerDelivery: Readonly<Record<string, number>>,
): Journal {
  const destinations = [...new Set(expected.flatMap((call) => call.destinations))].sort();
  const wanted = new Set(
    expected.flatMap((call) => call.destinations.map((name) => `${name} ${call.messageId}`)),
  );
  const arrivals: Arrival[] = [];
  const failed: string[] = [];
  const scheduled: string[] = [];
  const deadLetters: string[] = [];
  const key = ({ destination, messageId }: Arrival) => `${destination} ${messageId}`;
  const missing = () => {
    const there = new Set(arrivals.map(key));
    return [...wanted].filter((each) => !there.has(each));
  };
  const totals = () =>
    destinations.map((destination): DestinationTotals => {
      const own = arrivals.filter((arrival) => arrival.destination === destination);
      return {
        destination,
        expected: [...wanted].filter((each) => each.startsWith(`${destination} `)).length,
        ofAudience: expected.filter(
          (call) => call.isOfAudience === true && call.destinations.includes(destination),
        ).length,
        arrived: new Set(own.filter((each) => wanted.has(key(each))).map(key)).size,
        failedAttempts: failed.filter((each) => each === destination).length,
        retryCount: scheduled.filter((each) => each === destination).length,
        verified: own.filter(({ by, verified }) => by === "webhook" && verified).length,
        unexpected: own.filter((each) => !wanted.has(key(each))).length,
      };
    });
  return {
    arrived: (arrival) => arrivals.push(arrival),
    failed: (destination) => failed.push(destination),
    retryCount: (destination) => scheduled.push(destination),
    deadLetter: (reason) => deadLetters.push(reason),
    isComplete: () => missing().length === 0 && deadLetters.length >= expectedDeadLetters.length,
    totals,
    problems: () => [
      ...missing().map((each) => `${each}: has not arrived`),
      ...totals().flatMap(({ destination, expected: count, failedAttempts, unexpected }) => [
        ...(unexpected > 0
          ? [`${destination}: got ${counted(unexpected, "call")} that it should not get`]
          : []),
        ...(failedAttempts === count * (failuresPerDelivery[destination] ?? 0)
          ? []
          : [`${destination}: ${failedAttempts} failed attempts`]),
      ]),
      ...arrivals
        .filter(({ by, verified }) => by === "webhook" && !verified)
        .map((each) => `${key(each)}: the receiver could not verify the signature`),
      ...(`${[...deadLetters].sort()}` === `${[...expectedDeadLetters].sort()}`
        ? []
        : [`dead letters: ${deadLetters.join(", ") || "none"}`]),
    ],
  };
}
