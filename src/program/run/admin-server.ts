/**
 * Serves the admin port: `/metrics` for Prometheus, `/livez` and `/readyz` for the scheduler, `/status` for operators,
 * `/status?metrics` for `switchyard status` and the console, and an index at `/`. The port serves no secrets, but it
 * should only be reachable from a private network.
 *
 *   path                          accepts
 *   /-/reload, if it is allowed   POST: reloads the configuration
 *   any other                     GET and HEAD
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeNow, limitConnections, listenOn } from "../../base/runtime/listening.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import { METRICS } from "../../base/telemetry/metrics.ts";
import type { Health } from "./health.ts";

export interface AdminServer extends AsyncDisposable {
  /** The address on which the server listens. If port 0 was configured, it contains the port that was chosen. */
  readonly host: string;
  readonly port: number;
}

/** Reloads the configuration. Never rejects. */
export type Reload = () => Promise<{ readonly status: number; readonly report: object }>;

export interface AdminSources {
  readonly health: Health;
  readonly metrics: Metrics;
  /** The response of `/status`, without secrets. */
  readonly status: () => object;
  /** Null if reloading is not allowed on this address. */
  readonly reload?: Reload | null;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly allow?: string;
}

const CONNECTIONS_MAX = 256;
const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";
const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Resolves when the server listens, and rejects if it cannot listen, for example because the port is in use. The caller
 * disposes the server.
 */
export async function startAdmin(
  { host, port }: { readonly host: string; readonly port: number },
  sources: AdminSources,
): Promise<AdminServer> {
  const recent = rememberCounters(sources.metrics);
  const server = createServer((request, response) => {
    answer(request, sources, recent.earlier)
      .catch((error: unknown) => ({ status: 500, type: TEXT, body: `${String(error)}\n` }))
      .then((made) => send(request, response, made))
      // The client has closed the connection, so no response can be sent.
      .catch(() => response.destroy());
  });
  limitConnections(server, { all: CONNECTIONS_MAX, perAddress: CONNECTIONS_MAX });
  return {
    host,
    port: await listenOn(server, { host, port }, "admin"),
    [Symbol.asyncDispose]: async () => {
      recent[Symbol.dispose]();
      await closeNow(server);
    },
  };
}

async function answer(
  request: IncomingMessage,
  { health, metrics, status, reload = null }: AdminSources,
  earlier: () => object,
): Promise<Answer> {
  const [path = "/", query] = (request.url ?? "/").split("?", 2);
  if (path === "/-/reload" && reload !== null) return await reloaded(request, reload);
  if (request.method !== "GET" && request.method !== "HEAD") {
    const body = "only GET and HEAD are allowed here\n";
    return { status: 405, type: TEXT, body, allow: "GET, HEAD" };
  }
  switch (path) {
    case "/metrics":
      return { status: 200, type: PROMETHEUS, body: await metrics.text() };
    case "/livez":
      return { status: 200, type: JSON_TYPE, body: '{"alive":true}\n' };
    case "/readyz": {
      const report = health.report();
      return json(report.state === "ready" ? 200 : 503, report);
    }
    case "/status":
      return new URLSearchParams(query).has("metrics")
        ? json(200, { ...status(), metrics: metrics.values(), earlier: earlier() }, 0)
        : json(200, status());
    case "/":
      return { status: 200, type: "text/html; charset=utf-8", body: PAGE };
    default:
      return {
        status: 404,
        type: TEXT,
        body: "the paths are /metrics, /status, /livez and /readyz\n",
      };
  }
}

/** The counters from which `switchyard status` computes rates. */
const RATES = [
  ...[METRICS.attempts, METRICS.recordsIn, METRICS.recordsOut, METRICS.recordsRefused],
].map(({ name }) => name);
const REMEMBER_EVERY_MS = 30_000;

/** Remembers counters of 30 s to a minute ago, so that rates of the last minute are known without waiting. */
function rememberCounters(metrics: Metrics): Disposable & { readonly earlier: () => object } {
  let older = { atMs: performance.now(), metrics: {} };
  let newer = older;
  const timer = setInterval(() => {
    const values = metrics.values();
    const copied = RATES.map((name) => {
      return [name, (values[name] ?? []).map(({ labels, value }) => ({ labels, value }))] as const;
    });
    older = newer;
    newer = { atMs: performance.now(), metrics: Object.fromEntries(copied) };
  }, REMEMBER_EVERY_MS).unref();
  return {
    earlier: () => ({ agoMs: performance.now() - older.atMs, metrics: older.metrics }),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

async function reloaded(request: IncomingMessage, reload: Reload): Promise<Answer> {
  if (request.method !== "POST") {
    return { status: 405, type: TEXT, body: "only POST is allowed here\n", allow: "POST" };
  }
  // A web page could also send a POST to this path, but then the browser adds the page's origin.
  if (request.headers.origin !== undefined) {
    return { status: 403, type: TEXT, body: "requests from browsers are not allowed here\n" };
  }
  const { status, report } = await reload();
  return json(status, report);
}

function json(status: number, report: object, indent = 2): Answer {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(report, undefined, indent)}\n` };
}

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Switchyard</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}</style>
<h1>Switchyard</h1>
<ul>
<li><a href="/metrics">/metrics</a>: metrics in Prometheus' text format (docs/metrics.md)</li>
<li><a href="/status">/status</a>: what runs here, and the state of each destination (docs/monitor.md)</li>
<li><a href="/readyz">/readyz</a>: 200 once topics exist and consumers have joined, with each stage's health problems</li>
<li><a href="/livez">/livez</a>: 200 while the process runs</li>
</ul></html>
`;

function send(request: IncomingMessage, response: ServerResponse, made: Answer): void {
  const body = Buffer.from(made.body);
  response.writeHead(made.status, {
    "content-type": made.type,
    "content-length": body.length,
    "cache-control": "no-store",
    ...(made.allow === undefined ? {} : { allow: made.allow }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
