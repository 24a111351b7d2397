/**
 * Handles requests for comparisons of past calls that `access.ts` has already allowed. As with `config diff --since`,
 * the calls are routed both by a submitted file and by the current configuration. The file is neither applied nor
 * stored, so everybody who may read may also compare.
 *
 *   request                                            response
 *   POST of more than 4 MiB                            413
 *   POST of a file that cannot be compared             200 with its problems
 *   POST while another comparison is in progress       409
 *   POST while too many jobs are in progress           503
 *   POST                                               202 with the job, which continues
 *   GET of the latest comparison                       200 with its job, and its result if it has ended
 *   DELETE of one in progress                          204, and the comparison is stopped
 *   GET or DELETE of any other                         404
 *   anything else                                      405
 */

import type { IncomingMessage } from "node:http";

import { senderOf } from "./access.ts";
import type { ComparingCalls, JobView } from "./action-view.ts";
import { SENT_MAX_BYTES, sinceOf } from "./data.ts";
import type { ServerDeps } from "./http.ts";
import type { ConsoleConfig } from "./ports.ts";
import type { ComparedCallsView, ProblemsView } from "./query-view.ts";
import { empty, type HttpResponse, json, readBody, text } from "./responses.ts";
import type { Route } from "./routes.ts";

/** The shares that the console offers. Any other value counts as `all`. */
const SHARES: Readonly<Record<string, number>> = { all: 1, "10%": 0.1, "1%": 0.01 };
const MAX_BYTES = SENT_MAX_BYTES.changes;

type Deps = Pick<ServerDeps, "reader" | "jobs" | "clock">;
type Started = ReturnType<ServerDeps["jobs"]["begin"]>;

/** Runs comparisons, and keeps only the result of the latest one. */
export class Comparisons {
  readonly #deps: Deps;
  #latest: { readonly id: string; result: ComparedCallsView | null } | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async begin(
    content: Buffer,
    query: URLSearchParams,
    sender: Parameters<ServerDeps["jobs"]["begin"]>[1],
  ): Promise<Started | ProblemsView> {
    const { reader, jobs, clock } = this.#deps;
    const sinceMs = clock.nowMs() - sinceOf(query);
    const name = query.get("share") ?? "";
    const share = (Object.hasOwn(SHARES, name) ? SHARES[name] : null) ?? 1;
    const prepared = await reader.compareCalls(content, { sinceMs, share });
    if (prepared.kind !== "prepared") return prepared;
    const since = new Date(sinceMs).toISOString();
    const action: ComparingCalls = { action: "compare-calls", since, share };
    const kept: { id: string; result: ComparedCallsView | null } = { id: "", result: null };
    const begun = jobs.beginWork(
      action,
      () => async (progress, signal) => {
        kept.result = await prepared.compare(progress, signal);
        return { isDone: kept.result !== null, count: null, unfinished: null };
      },
      sender,
    );
    if (begun.kind === "begun") {
      kept.id = begun.job.id;
      this.#latest = kept;
    }
    return begun;
  }

  find(id: string): { readonly job: JobView; readonly result: ComparedCallsView | null } | null {
    const job = this.#deps.jobs.view(id);
    if (job === null || this.#latest?.id !== id) return null;
    return { job, result: job.state === "done" ? this.#latest.result : null };
  }
}

interface World extends Pick<ServerDeps, "jobs"> {
  readonly comparisons: Comparisons;
  readonly config: Pick<ConsoleConfig, "token">;
}

export async function handleComparison(
  request: IncomingMessage,
  { id, query }: Extract<Route, { kind: "comparisons" }>,
  { comparisons, jobs, config }: World,
): Promise<HttpResponse> {
  const { method } = request;
  if (id === null) {
    if (method !== "POST") return text(405, "Only POST is allowed here.", { allow: "POST" });
    const body = await readBody(request, MAX_BYTES);
    if (body === null) {
      return json(413, { error: `The maximum is ${MAX_BYTES.toLocaleString("en")} bytes.` });
    }
    const sender = senderOf(request.headers, config, request.socket.remoteAddress ?? "");
    const begun = await comparisons.begin(body, query, sender);
    if (begun.kind === "begun") return json(202, begun.job);
    if (begun.kind === "rejected") return json(begun.status, { error: begun.why });
    return json(200, begun);
  }
  const found = comparisons.find(id);
  if (method === "GET" || method === "HEAD") {
    return found === null
      ? json(404, { error: "The result of this comparison is no longer stored." })
      : json(200, found);
  }
  if (method !== "DELETE") {
    return text(405, "Only GET, HEAD and DELETE are allowed here.", { allow: "GET, HEAD, DELETE" });
  }
  return found !== null && jobs.stop(id)
    ? empty()
    : json(404, { error: "No comparison with this ID is in progress." });
}
