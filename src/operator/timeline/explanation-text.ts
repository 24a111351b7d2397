/** Formats an explanation as text. */

import { callKey } from "../../domain/call.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { isoTimestamp, readTimestamp } from "../../domain/timestamp.ts";
import type { ReadCall } from "../../router/route/route-record.ts";
import type { Colors } from "../connect/shell.ts";
import type {
  EndpointRequest,
  ExplainedBatch,
  ExplainedDestination,
  Explanation,
  FirstStep,
} from "./explanation.ts";

/** @param number the number of the line, counted from 1. The result ends with a blank line. */
export function explanationText(explanation: Explanation, number: number, colors: Colors): string {
  const { bold, red } = colors;
  const lines =
    explanation.kind === "unusable"
      ? [
          `${bold(`line ${number}`)}  ${red("not a call")}`,
          `  dead letter ${explanation.reason}: ${visibleCell(explanation.error)}`,
        ]
      : [
          `${bold(`line ${number}`)}  ${explanation.read.call.type}`,
          ...callLines(explanation.read),
          ...explanation.destinations.flatMap((each) =>
            destinationLines(each, explanation.read, colors),
          ),
        ];
  return `${lines.join("\n")}\n\n`;
}

function callLines({ call, source, namedBy, times }: ReadCall): readonly string[] {
  // IDs come from outside, so they are written as JSON strings, which cannot control the terminal.
  const messageId =
    call.messageId === null
      ? "none: it becomes <topic>/<partition>/<offset>; in this output, the offset is the line number minus 1"
      : JSON.stringify(call.messageId);
  return [
    `  source      ${source.id} (${NAMED_BY[namedBy]})`,
    `  message id  ${messageId}`,
    `  key         ${JSON.stringify(callKey(call))}`,
    `  time        ${isoTimestamp(times.timestampMs)} (${timedBy(call)}${unreadText(times.unread)})`,
  ];
}

export const NAMED_BY = {
  "header source-id": "by the header source-id",
  sourceId: "by its sourceId",
  writeKey: "by its writeKey",
  defaultSource: "the default source",
} as const;

function unreadText(unread: ReadCall["times"]["unread"]): string {
  return unread === null ? "" : `; its ${unread} cannot be read, see docs/calls.md#timestamps`;
}

/** Checks the fields in the same order as `call-time.ts`. */
function timedBy(call: ReadCall["call"]): string {
  if (readTimestamp(call.timestamp) !== null) return "its timestamp";
  if (readTimestamp(call.originalTimestamp) !== null) {
    const isCorrected =
      readTimestamp(call.sentAt) !== null && readTimestamp(call.receivedAt) !== null;
    return isCorrected
      ? "its originalTimestamp, with the device's clock corrected"
      : "its originalTimestamp";
  }
  if (readTimestamp(call.receivedAt) !== null) return "its receivedAt";
  return "the time at which the record is written; here, the current time";
}

function destinationLines(
  { destination, reason, filter, changed, copy, first }: ExplainedDestination,
  { source }: ReadCall,
  { bold, dim, green }: Colors,
): readonly string[] {
  const gets = copy === null ? dim("does not get it") : green("gets it");
  const name = visibleCell(destination.name);
  const why = reasonText({ reason, filter, changed }, name, source.id);
  const lines = [`  ${bold(destination.id)} (${name}) ${gets}: ${why}`];
  if (copy === null) return lines;
  if (!destination.historical)
    lines.push("    its timestamp is the time of receipt, because historical is false");
  lines.push(`    topic ${copy.topic}`);
  const isOrdered = destination.isAttempted && destination.order === "strict";
  if (isOrdered && (copy.key?.length ?? 0) > 0)
    lines.push("    it waits behind earlier deliveries of the same user that await retry");
  if (first !== null) lines.push(...firstLines(first));
  return lines;
}

function firstLines(first: FirstStep): readonly string[] {
  if (first.kind !== "attempt") return [`    ${noRequestText(first)}`];
  if (first.batched !== null) return ["    sent in a batch, shown below"];
  return first.requests.flatMap(requestLines);
}

/** Formats a batch as text. The text ends with a blank line. */
export function batchText(
  { destination, lines, requests }: ExplainedBatch,
  { bold }: Colors,
): string {
  const title = `${bold(destination.id)}  batch of ${lineNumbers(lines)}`;
  return `${[title, ...requests.flatMap(requestLines)].join("\n")}\n\n`;
}

/** Formats line numbers, such as `line 3` or `lines 1-5, 8`. */
function lineNumbers(lines: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last?.[1] === line - 1) last[1] = line;
    else ranges.push([line, line]);
  }
  const texts = ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return `${lines.length === 1 ? "line" : "lines"} ${texts.join(", ")}`;
}

/** Explains why no request is made. */
export function noRequestText(first: Exclude<FirstStep, { readonly kind: "attempt" }>): string {
  switch (first.kind) {
    case "dead-letter":
      return `no request, but a dead letter (${first.reason}): ${visibleCell(first.error)}`;
    case "retry":
      return `no request yet: it is retried after ${first.delayMs / 1_000} s`;
    case "wait":
      return `no request yet: it stays in the queue, because the destination is ${first.reason}`;
  }
}

/** One sentence, which contains the names of filters and of changed properties. These names come from outside. */
export function reasonText(
  { reason, filter, changed }: Pick<ExplainedDestination, "reason" | "filter" | "changed">,
  name: string,
  source: string,
): string {
  const changes =
    changed.length === 0 ? "" : `; its rules change ${changed.map(visibleCell).join(", ")}`;
  switch (reason) {
    case "by-default":
      return `the source is connected to it, and integrations do not exclude it${changes}`;
    case "named-true":
      return `integrations include ${name}${changes}`;
    case "named-false":
      return `integrations exclude ${name}`;
    case "all-false":
      return `integrations exclude All, and do not name ${name}`;
    case "suppressed":
      return "the call's user is suppressed";
    case "not-connected":
      return `the source ${source} is not connected to it`;
    case "disabled":
      return "it is disabled, and the call is not delivered later either";
    case "no-consent":
      return "the call does not grant the consent that the destination requires";
    case "sampled-out":
      return `the call is not in the sample that the filter ${JSON.stringify(filter)} keeps`;
    case "filtered":
      return `the filter ${JSON.stringify(filter)} drops the call`;
    case "rule-failed":
      return "its rules could not be evaluated, and the call is a dead letter";
  }
}

function requestLines(request: EndpointRequest): readonly string[] {
  const { endpointName, method, url, headers, body, proxy } = request;
  return [
    `    endpoint ${endpointName}${proxy === null ? "" : `, through the proxy ${proxy}`}`,
    `    ${method} ${url}`,
    ...headers.map(([name, value]) => `      ${name}: ${value}`),
    // Each line of a body becomes a separate line of the output.
    ...body
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => `      ${line}`),
  ];
}
