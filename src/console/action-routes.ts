/**
 * Actions over HTTP. `access.ts` has let the request in.
 *
 *   the request                                        answer
 *   GET                                                200 with the jobs, the latest first
 *   POST, not as application/json                      415: a form of another page cannot say so
 *   POST, of more than 4 KiB                           413
 *   POST, no action, or one that is not allowed        400, with a sentence
 *   POST, one like it is under way                     409
 *   POST, too many are                                 503
 *   POST                                               202 with the job, which goes on
 *   DELETE of one under way                            204: it is asked to stop
 *   DELETE of another one                              404
 *   anything else                                      405
 */

import type { IncomingMessage } from "node:http";

import { senderOf } from "./access.ts";
import { readAction } from "./action.ts";
import { type Answer, empty, json, text } from "./answers.ts";
import type { Jobs } from "./jobs.ts";
import type { ConsoleConfig } from "./ports.ts";
import { readBody } from "./read-body.ts";
import type { Route } from "./routes.ts";
import type { ServerDeps } from "./server-deps.ts";

const BODY_MAX_BYTES = 4_096;

export interface Acting extends Pick<ServerDeps, "clock"> {
  readonly jobs: Jobs;
  readonly config: Pick<ConsoleConfig, "token">;
}

export async function answerAction(
  request: IncomingMessage,
  { id }: Extract<Route, { kind: "actions" }>,
  acting: Acting,
): Promise<Answer> {
  const { jobs } = acting;
  const { method } = request;
  if (id === null && (method === "GET" || method === "HEAD")) {
    return json(200, { jobs: jobs.views() });
  }
  if (id === null && method === "POST") return await begin(request, acting);
  if (id !== null && method === "DELETE") {
    return jobs.stop(id) ? empty() : json(404, { error: "No such action is under way." });
  }
  const allowed = id === null ? "GET, HEAD, POST" : "DELETE";
  return text(405, `Only ${allowed} is answered here.`, { allow: allowed });
}

async function begin(request: IncomingMessage, { jobs, config, clock }: Acting): Promise<Answer> {
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json(?:;|$)/i.test(type)) {
    return json(415, { error: "Send the action as application/json." });
  }
  const body = await readBody(request, BODY_MAX_BYTES);
  if (body === null) return json(413, { error: `The body has more than ${BODY_MAX_BYTES} bytes.` });
  const read = readAction(body.toString(), clock.nowMs());
  if (read.kind === "refused") return json(400, { error: read.why });
  const sender = senderOf(request.headers, config, request.socket.remoteAddress ?? "");
  const begun = jobs.begin(read.action, sender);
  if (begun.kind === "refused") return json(begun.status, { error: begun.why });
  return json(202, begun.job);
}
