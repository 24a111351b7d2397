/**
 * Handles requests about actions that `access.ts` has already allowed.
 *
 *   request                                            response
 *   GET                                                200 with the jobs, the latest first
 *   POST, not as application/json                      415, because forms cannot send that type
 *   POST of more than 4 KiB                            413
 *   POST of an invalid or forbidden action             400 with a sentence
 *   POST while a similar action is in progress         409
 *   POST while too many are in progress                503
 *   POST                                               202 with the job, which continues
 *   DELETE of an action in progress                    204, and the action is stopped
 *   DELETE of any other action                         404
 *   anything else                                      405
 */

import type { IncomingMessage } from "node:http";

import { senderOf } from "./access.ts";
import { readAction } from "./action.ts";
import type { ServerDeps } from "./http.ts";
import type { Jobs } from "./jobs.ts";
import type { ConsoleConfig } from "./ports.ts";
import { empty, type HttpResponse, json, readBody, text } from "./responses.ts";
import type { Route } from "./routes.ts";

const BODY_MAX_BYTES = 4_096;

export interface Acting extends Pick<ServerDeps, "clock"> {
  readonly jobs: Jobs;
  readonly config: Pick<ConsoleConfig, "token">;
}

export async function handleAction(
  request: IncomingMessage,
  { id }: Extract<Route, { kind: "actions" }>,
  acting: Acting,
): Promise<HttpResponse> {
  const { jobs } = acting;
  const { method } = request;
  if (id === null && (method === "GET" || method === "HEAD")) {
    return json(200, { jobs: jobs.views() });
  }
  if (id === null && method === "POST") return await begin(request, acting);
  if (id !== null && method === "DELETE") {
    return jobs.stop(id) ? empty() : json(404, { error: "No action with this ID is in progress." });
  }
  const allowed = id === null ? "GET, HEAD, POST" : "DELETE";
  return text(405, `Only ${allowed} is allowed here.`, { allow: allowed });
}

async function begin(
  request: IncomingMessage,
  { jobs, config, clock }: Acting,
): Promise<HttpResponse> {
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json(?:;|$)/i.test(type)) {
    return json(415, { error: "Send the action as application/json." });
  }
  const body = await readBody(request, BODY_MAX_BYTES);
  if (body === null) return json(413, { error: `The body has more than ${BODY_MAX_BYTES} bytes.` });
  const read = readAction(body.toString(), clock.nowMs());
  if (read.kind === "invalid") return json(400, { error: read.why });
  const sender = senderOf(request.headers, config, request.socket.remoteAddress ?? "");
  const begun = jobs.begin(read.action, sender);
  if (begun.kind === "rejected") return json(begun.status, { error: begun.why });
  return json(202, begun.job);
}
