/**
 * A contestant of `bench rules` that needs no Kafka: repeats one piece of work.
 *
 *   node bench/rules-work.ts <key>
 */

import type { SourceId } from "../src/domain/ids.ts";
import { topicNames } from "../src/domain/topics.ts";
import { routeRecord } from "../src/router/route/route-record.ts";
import { createRouting } from "../src/router/route/routing.ts";
import { compileFilter } from "../src/router/rules/fql/compile.ts";
import { aRecord, aSource, aTopicDestination } from "../test/support/build/calls.ts";
import { createMeter } from "./measure.ts";
import { benchCall, idOf, rulesNamed } from "./work.ts";

const WARM_UP_MS = 500;
const MEASURED_MS = 1_500;
const TEXT = "a".repeat(30 * 1_024);
const HUNDRED = 100;

/** The results are added up, so that the compiler cannot omit work whose result is unused. */
type Work = () => number;

/** @param additional properties of the call. */
function filter(text: string, more: Readonly<Record<string, string>> = {}): Work {
  const compiled = compileFilter(text);
  if (compiled.kind === "invalid") throw new Error(`${text}: ${compiled.expected}`);
  const json = { type: "track", event: "Order Completed", properties: { text: TEXT, ...more } };
  const call = { json, bytes: Buffer.from(JSON.stringify(json)) };
  return () => (compiled.matches(call) ? 1 : 0);
}

function routing(rules: "none" | "fifty"): Work {
  const ids = Array.from({ length: HUNDRED }, (_, at) => idOf(at));
  const source = "bench" as SourceId;
  const destinations = ids.map((id, at) => aTopicDestination(id, rulesNamed(rules, at)));
  const routed = createRouting([aSource(source, ids)], source, destinations, topicNames(""));
  const record = aRecord(Buffer.from(benchCall(1).value));
  return () => routeRecord(record, routed, record.timestampMs).kind.length;
}

const WORKS: Readonly<Record<string, () => Work>> = {
  hundred: () => routing("none"),
  fifty: () => routing("fifty"),
  scan: () => () => {
    let sum = 0;
    for (let at = 0; at < TEXT.length; at += 1) sum += TEXT.charCodeAt(at);
    return sum;
  },
  any: () => filter(`match( properties.text, '*${"?".repeat(120)}b*' )`),
  lists: () => filter(`match( properties.text, '*${"[ab]".repeat(60)}c*' )`),
  stars: () => filter(`match( properties.text, '*${"?a*".repeat(80)}b*' )`),
  given: () => filter("match( properties.text, properties.p )", { p: `*${"?a".repeat(126)}b*` }),
  contains: () =>
    filter("contains( properties.text, properties.p )", { p: `b${"a".repeat(15 * 1_024)}` }),
  ordinary: () => filter("type = 'track' and match( event, 'Video *' )"),
};

const [key = ""] = process.argv.slice(2);
const work = WORKS[key]?.();
if (work === undefined) throw new Error(`The work ${key} does not exist.`);

let sum = 0;

/** @returns how often the work was done. */
function repeat(doOnce: Work, ms: number): number {
  const endAt = performance.now() + ms;
  let count = 0;
  while (performance.now() < endAt) {
    for (let at = 0; at < 10; at += 1) sum += doOnce();
    count += 10;
  }
  return count;
}

repeat(work, WARM_UP_MS);
const meter = createMeter();
meter.start();
const measured = meter.stop(repeat(work, MEASURED_MS));
process.stdout.write(`${JSON.stringify({ ...measured, extra: { sum } })}\n`);
