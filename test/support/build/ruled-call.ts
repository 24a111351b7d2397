/** Rules of destinations in the form of the file, and the results of applying them to a call. */

import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { DestinationRules } from "../../../src/domain/rules.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { explained, readCall, routeCall } from "../../../src/router/route/route-record.ts";
import { createRouting } from "../../../src/router/route/routing.ts";
import { config } from "./config-source.ts";

/** A configuration of the sources web and app, both connected to the destination crm, which has these rules. */
export function rulesYaml(rules: string, more = ""): string {
  const indented = rules.replaceAll(/^/gm, "    ");
  return `
kafka: { brokers: ["kafka-1:9092"] }
sources:
  - { id: web, writeKey: web-key, destinations: [crm, plain] }
  - { id: app, destinations: [crm] }
defaultSource: web
destinations:
  - id: crm
    type: topic
    name: CRM
${indented}
  - { id: plain, type: topic, name: Plain }
${more}`;
}

/** The decoded rules of crm. */
export function rulesOf(rules: string, more = ""): Partial<DestinationRules> {
  const [crm] = config(rulesYaml(rules, more)).destinations;
  if (crm === undefined) throw new Error("no destination");
  return crm;
}

export interface RuledCall {
  /** Null if crm does not get the call. */
  readonly value: string | null;
  readonly key: string | null;
  readonly reason: string;
  readonly filter: string | null;
  readonly changed: readonly string[];
  /** The value that the destination without rules gets. */
  readonly plain: string | null;
}

/** Routes a call by these rules. The call is an object or its JSON. */
export function ruledCall(
  rules: string,
  call: object | string,
  more = "",
  source = "web",
): RuledCall {
  const { sources, defaultSource, destinations } = config(rulesYaml(rules, more));
  const routing = createRouting(sources, defaultSource, destinations, topicNames(""));
  const text = typeof call === "string" ? call : JSON.stringify(call);
  const record: IncomingRecord = {
    ...{ topic: "calls", partition: 0, offset: 7, timestampMs: 1_800_000_000_000 },
    ...{ key: null, value: Buffer.from(text) },
    headers: [["source-id", Buffer.from(source)]],
  };
  const read = readCall(record, routing.lookup, 1_800_000_000_000);
  if (read.kind === "refused") throw new Error(read.error);
  const routed = routeCall(record, read, routing);
  const recordOf = (id: string) =>
    routed.records[routed.routes.findIndex(({ destination }) => destination === id)];
  const [decision] = explained(read.call, routed, destinations);
  if (decision === undefined) throw new Error("no decision");
  const { reason, filter, changed } = decision;
  const [crm, plain] = [recordOf("crm"), recordOf("plain")];
  return {
    value: crm?.value?.toString() ?? null,
    key: crm?.key?.toString() ?? null,
    ...{ reason, filter, changed: changed.toSorted() },
    plain: plain?.value?.toString() ?? null,
  };
}

/** The value that crm gets, parsed with JSON.parse. */
export function sentFor(rules: string, call: object | string): unknown {
  const { value } = ruledCall(rules, call);
  return value === null ? null : JSON.parse(value);
}
