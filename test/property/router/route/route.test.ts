// Laws of routing: this test states again who may get a call, in the words of docs/how-it-works.md#routing.

import fc from "fast-check";
import { expect, test } from "vitest";

import { readDelivery } from "../../../../src/domain/delivery.ts";
import type { SourceId } from "../../../../src/domain/ids.ts";
import type { JsonObject } from "../../../../src/domain/json.ts";
import { parseCall } from "../../../../src/domain/parse-call.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { Candidates, candidates, decide, receivers } from "../../../../src/router/route/route.ts";
import { routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { aRecord, aSource, aTopicDestination } from "../../../support/build/calls.ts";
import { anyJson, anyValue } from "../../../support/build/generated-calls.ts";
import { GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";

const numRuns = GENERATED_INPUTS;
const TIME_LIMIT_MS = 300_000;

const NAMES = ["Webhooks", "webhooks", "CRM", "Email Tool", "constructor", "__proto__"];
const destination = fc.record({
  name: fc.constantFrom(...NAMES),
  enabled: fc.boolean(),
  historical: fc.boolean(),
});
const destinations = fc
  .array(destination, { minLength: 1, maxLength: 5 })
  .map((all) => all.map((more, index) => aTopicDestination(`d${index}`, more)));
const connected = fc.subarray(["d0", "d1", "d2", "d3", "d4"]);

/** Creates own properties, like JSON.parse. Otherwise `{ __proto__: true }` would be lost. */
const flagsOf = (entries: readonly (readonly [string, unknown])[]): JsonObject =>
  JSON.parse(
    `{${entries.map(([name, flag]) => `${JSON.stringify(name)}:${JSON.stringify(flag)}`)}}`,
  );
const flag = fc.oneof(
  { weight: 4, arbitrary: fc.boolean() },
  { weight: 1, arbitrary: fc.constantFrom({}, { a: 1 }, null, 0, 1, "true", "", [], [true]) },
);
const flags = fc.uniqueArray(fc.tuple(fc.constantFrom("All", "all", ...NAMES), flag), {
  selector: ([name]) => name,
});

const own = (given: JsonObject | null, name: string) =>
  given !== null && Object.hasOwn(given, name) ? given[name] : undefined;
const isTrue = (value: unknown) =>
  value === true || (typeof value === "object" && value !== null && !Array.isArray(value));

test(
  "a destination gets a call if it may and only if it may",
  () => {
    fc.assert(
      fc.property(destinations, connected, fc.option(flags), (all, ids, entries) => {
        const given = entries === null ? null : flagsOf(entries);
        const source = aSource("web", ids);
        const big = own(given, "All");
        const isBigAbsent = typeof big !== "boolean" && !isTrue(big);
        const isNothing = (isBigAbsent ? own(given, "all") : big) === false;
        for (const { destination: each, gets } of decide(given, source, all)) {
          const named = own(given, each.name);
          const may =
            ids.includes(each.id) &&
            each.enabled &&
            named !== false &&
            (isTrue(named) || !isNothing);
          expect(gets).toBe(may);
        }
      }),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test(
  "flags for names that no destination has change nothing",
  () => {
    const strangers = fc.array(
      fc.tuple(
        fc.string().filter((name) => !["All", "all", ...NAMES].includes(name)),
        fc.oneof(flag, anyJson),
      ),
    );
    fc.assert(
      fc.property(destinations, connected, flags, strangers, (all, ids, entries, others) => {
        const source = aSource("web", ids);
        const without = decide(flagsOf(entries), source, all);
        expect(decide(flagsOf([...others, ...entries]), source, all)).toEqual(without);
        if (entries.length === 0) expect(decide(null, source, all)).toEqual(without);
      }),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test(
  "the stage's short way decides like the explained one",
  () => {
    fc.assert(
      fc.property(destinations, connected, fc.option(flags), (all, ids, entries) => {
        const given = entries === null ? null : flagsOf(entries);
        const source = aSource("web", ids);
        const explained = decide(given, source, all).filter(({ gets }) => gets);
        const short = receivers(given, candidates(source, all));
        expect(short).toEqual(explained.map((decision) => decision.destination));
        expect(new Candidates(candidates(source, all)).receivers(given)).toEqual(short);
      }),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test(
  "every record is routed or rejected, and every copy can be read by the next stage",
  () => {
    const ids = ["d0", "d1"];
    const routing = createRouting(
      [aSource("web", ids)],
      "web" as SourceId,
      [aTopicDestination("d0", { name: "CRM" }), aTopicDestination("d1", { historical: false })],
      topicNames("sw."),
    );
    const recordTime = fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.maxSafeInteger());
    const check = (value: Buffer | null, timestampMs: number) => {
      const routed = routeRecord(aRecord(value, { timestampMs }), routing, 1_800_000_000_000);
      if (routed.kind === "unusable") {
        expect(routed.error).not.toBe("");
        return;
      }
      const topics = routed.records.map(({ topic }) => topic);
      expect(new Set(topics).size).toBe(topics.length);
      for (const copy of routed.records) {
        const parsed = readDelivery({ headers: [...(copy.sharedHeaders ?? []), ...copy.headers] });
        if (parsed.kind === "invalid") throw new Error(parsed.error);
        expect(ids).toContain(parsed.delivery.destination);
        expect(copy.value).toBe(value);
        expect(parseCall(JSON.parse(new TextDecoder().decode(value ?? undefined))).kind).toBe(
          "call",
        );
      }
    };
    fc.assert(fc.property(anyValue, recordTime, check), { numRuns });
  },
  TIME_LIMIT_MS,
);
