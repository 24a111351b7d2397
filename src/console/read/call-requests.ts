/**
 * Finds out what the stages would do with a call now, as `explain` does: which destinations get the call and why,
 * and which requests the deliver stage would send. Nothing is sent. Static headers may be secret, and so may every
 * part of a URL except scheme, host and port; these are not shown. Bodies contain data of users, so they are shown
 * only if `console.showPayloads` allows it.
 */

import type { Config } from "../../config/config.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { configuredTopics } from "../../operate/connect/connection.ts";
import {
  createRecordExplainer,
  type EndpointRequest,
  type ExplainedDestination,
} from "../../operate/timeline/explanation.ts";
import { noRequestText, reasonText } from "../../operate/timeline/explanation-text.ts";
import type { CallRequest, CallView } from "../query-view.ts";

const DESTINATIONS_MAX = 50;
const BODY_CHARACTERS = 16_384;

const NO_REQUEST = {
  endpoint: null,
  method: "",
  origin: "",
  headers: [],
  body: null,
  bodyBytes: 0,
};

/** @param record a record of `calls`, with the schema of its value if it has one. */
export function explainedCall(
  record: IncomingRecord,
  config: Config,
  nowMs: number,
): Pick<CallView, "decisions" | "requests"> {
  const explained = createRecordExplainer(config, configuredTopics(config))(record, nowMs);
  if (explained.kind === "unusable") return { decisions: [], requests: [] };
  const { destinations, read } = explained;
  const getting = destinations.filter(({ copy }) => copy !== null);
  const connected = destinations.filter(({ reason }) => reason !== "not-connected");
  return {
    decisions: connected.slice(0, DESTINATIONS_MAX).map(({ destination, copy, ...why }) => ({
      destination: destination.id,
      gets: copy !== null,
      reason: why.reason,
      text: reasonText(why, destination.name, read.source.id),
    })),
    requests: getting
      .slice(0, DESTINATIONS_MAX)
      .flatMap((each) => requestsOf(each, config.console.showPayloads)),
  };
}

function requestsOf(
  { destination, first }: ExplainedDestination,
  payloads: boolean,
): readonly CallRequest[] {
  const { id } = destination;
  if (first === null) {
    const note = "receives no requests: its topic is read by other consumers";
    return [{ ...NO_REQUEST, destination: id, note }];
  }
  if (first.kind !== "attempt") {
    return [{ ...NO_REQUEST, destination: id, note: noRequestText(first) }];
  }
  return first.requests.map((request) => requestView(id, request, payloads));
}

function requestView(
  destination: string,
  { endpointName, method, url, headers, secret, body }: EndpointRequest,
  payloads: boolean,
): CallRequest {
  return {
    destination,
    endpoint: endpointName,
    method,
    origin: new URL(url).origin,
    headers: headers.map((header) => {
      const [name, value] = header;
      return [name, secret.includes(header) ? null : value] as const;
    }),
    body: payloads ? cut(body.toString()) : null,
    bodyBytes: body.length,
    note: null,
  };
}

function cut(text: string): string {
  return text.length > BODY_CHARACTERS ? `${text.slice(0, BODY_CHARACTERS)}…` : text;
}
