/**
 * Serves the console over HTTP. `access.ts` decides whether a request is allowed, `routes.ts` finds out what its
 * address stands for, and `data.ts` reads the data.
 */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { asError } from "../../base/runtime/as-error.ts";
import { closeNow, hostAndPort, limitConnections, listenOn } from "../../base/runtime/listening.ts";
import { createPenaltyDelay, type PenaltyDelay } from "../../base/runtime/penalty-delay.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import {
  type Access,
  type AccessRequest,
  accessOf,
  ENDED_COOKIE,
  isLoopback,
  isToken,
  senderOf,
  sessionCookie,
  sessionOf,
} from "./access.ts";
import { readAction } from "./action.ts";
import { createData, userHash } from "./data.ts";
import { eventStreams, type ServerDeps } from "./http.ts";
import type { Jobs } from "./jobs.ts";
import type { ConsoleConfig } from "./ports.ts";
import {
  empty,
  file,
  type HttpResponse,
  json,
  KEPT,
  NOT_KEPT,
  readBody,
  SECURITY_HEADERS,
  text,
} from "./responses.ts";
import { type Route, routeOf } from "./routes.ts";
import type { Session } from "./view.ts";

const TOKEN_MAX_BYTES = 1_024;
const USER_ID_MAX_BYTES = 4_096;
const HEADERS_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;
const CONNECTIONS_MAX = 256;

export interface ConsoleServer extends AsyncDisposable {
  /** The port on which the console listens. If 0 was configured, a free port was selected. */
  readonly port: number;
  /** The address of the console. */
  readonly url: string;
}

export async function startServer(deps: ServerDeps, config: ConsoleConfig): Promise<ConsoleServer> {
  const { host, port, token } = config;
  if (token === null && !isLoopback(host)) {
    throw new Error(
      `console.host: ${host} can be reached from other machines, and console.token is not set. Set a token, or listen on 127.0.0.1.`,
    );
  }
  const streams = eventStreams(deps);
  const ended = new AbortController();
  const data = createData(deps.reader, token);
  const guesses = { lines: new LineLimit(1), delay: createPenaltyDelay(deps.clock) };
  const world = { ...deps, config, streams, data, guesses, ended: new Map() };
  const server = createServer(
    { headersTimeout: HEADERS_LIMIT_MS, requestTimeout: REQUEST_LIMIT_MS },
    (request, response) => {
      handle(request, response, world).catch(() => response.destroy());
    },
  );
  limitConnections(server, { all: CONNECTIONS_MAX, perAddress: CONNECTIONS_MAX });
  const bound = await listenOn(server, { host, port }, "console");
  return {
    port: bound,
    url: `http://${hostAndPort(host, bound)}/`,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await closeNow(server);
    },
  };
}

interface World extends ServerDeps {
  readonly config: ConsoleConfig;
  readonly streams: ReturnType<typeof eventStreams>;
  readonly data: ReturnType<typeof createData>;
  readonly guesses: { readonly lines: LineLimit; readonly delay: PenaltyDelay };
  /** The ended sessions, each with the time at which it would have ended anyway. */
  readonly ended: Map<string, number>;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  world: World,
): Promise<void> {
  const route = routeOf(request.url ?? "/");
  const method = request.method ?? "";
  const asked = { method, kind: kindOf(route, method), headers: request.headers };
  const readAccess = () => accessOf(asked, world.config, world.clock.nowMs(), world.ended);
  const access = readAccess();
  const isGuess = access.kind === "rejected" && access.status === 401;
  if (isGuess && request.headers.authorization !== undefined) await wrongToken(request, world);
  if (access.kind === "allowed" && route.kind === "events" && method === "GET") {
    const isAllowed = () => readAccess().kind === "allowed";
    if (world.streams.open(response, route.view, isAllowed)) return;
    return send(request, response, text(503, "Too many consoles are open."));
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const made = await respond(request, route, access, gone.signal, world).catch((error: unknown) =>
    json(503, { error: asError(error).message }),
  );
  send(request, response, made);
}

function kindOf({ kind }: Route, method: string): AccessRequest["kind"] {
  if (kind === "page" || kind === "asset" || kind === "unknown") return "page";
  if (kind === "actions" && method !== "GET" && method !== "HEAD") return "action";
  return kind === "session" ? "session" : "data";
}

async function respond(
  request: IncomingMessage,
  route: Route,
  access: Access,
  gone: AbortSignal,
  world: World,
): Promise<HttpResponse> {
  if (access.kind === "rejected") return json(access.status, { error: access.why });
  if (route.kind === "actions") return await handleAction(request, route, world);
  if (route.kind === "session") return await session(request, access.isKnown, world);
  if (route.kind === "user") return await user(request, world.config);
  if (request.method !== "GET" && request.method !== "HEAD") {
    return notAllowed("GET, HEAD");
  }
  const encodings = request.headers["accept-encoding"];
  switch (route.kind) {
    case "page": {
      const { deeper, document } = world.files;
      const found = file(route.isDeep ? deeper : document, NOT_KEPT, encodings);
      return route.exists ? found : { ...found, status: 404 };
    }
    case "asset": {
      const found = world.files.assets.get(route.name);
      return found === undefined
        ? text(404, "This file does not exist.")
        : file(found, KEPT, encodings);
    }
    case "data":
      return dataResponse(await world.data(route.name, route.query, gone));
    case "events":
      return notAllowed("GET");
    case "unknown":
      return text(404, "This page does not exist.");
  }
}

async function session(
  request: IncomingMessage,
  isKnown: boolean,
  world: World,
): Promise<HttpResponse> {
  const { config, clock, ended } = world;
  const { token, readOnly, version } = config;
  if (request.method === "DELETE") {
    const nowMs = clock.nowMs();
    const own = token === null ? null : sessionOf(token, request.headers, nowMs, ended);
    for (const [each, endsMs] of ended) if (endsMs <= nowMs) ended.delete(each);
    if (own !== null) ended.set(own, Number.parseInt(own, 10) * 1_000);
    return empty({ "set-cookie": ENDED_COOKIE });
  }
  if (request.method !== "POST") {
    // The version is shown only to users who are signed in.
    const known: Session = {
      isKnown,
      hasToken: token !== null,
      readOnly,
      version: isKnown ? version : "",
    };
    return json(200, known);
  }
  const given = (await readBody(request, TOKEN_MAX_BYTES))?.toString() ?? "";
  if (token === null) return empty({});
  if (!isToken(given, token)) {
    await wrongToken(request, world);
    return json(401, { error: "The token is wrong." });
  }
  const id = randomBytes(16).toString("hex");
  return empty({ "set-cookie": sessionCookie(token, clock.nowMs(), request.headers, id) });
}

/** Logs a wrong token, but never the token, and delays the response. */
async function wrongToken(
  { headers, socket }: IncomingMessage,
  { config, clock, guesses, log }: World,
): Promise<void> {
  const { by: _by, ...sender } = senderOf(headers, config, socket.remoteAddress ?? "");
  const omittedLines = guesses.lines.admit(clock.nowMs());
  if (omittedLines !== null) log.warn({ ...sender, omittedLines }, "console.sign-in-failed");
  await guesses.delay.wait(socket, sender.from);
}

/** Responds with the hash of the user ID in the body, for the address. */
async function user(
  request: IncomingMessage,
  { token }: Pick<ConsoleConfig, "token">,
): Promise<HttpResponse> {
  if (request.method !== "POST") return notAllowed("POST");
  const body = await readBody(request, USER_ID_MAX_BYTES);
  if (body === null) {
    return json(413, { error: `The maximum is ${USER_ID_MAX_BYTES.toLocaleString("en")} bytes.` });
  }
  return json(200, { hash: userHash(body.toString(), token) });
}

/** @param methods separated by commas. */
function notAllowed(methods: string): HttpResponse {
  return text(405, `Allowed here: ${methods}.`, { allow: methods });
}

function dataResponse(found: object | null): HttpResponse {
  return found === null
    ? json(503, { error: "Too many queries are in progress. Try again." })
    : json(200, found);
}

function send(request: IncomingMessage, response: ServerResponse, made: HttpResponse): void {
  const body = Buffer.from(made.body);
  response.writeHead(made.status, {
    ...SECURITY_HEADERS,
    "cache-control": NOT_KEPT,
    ...(made.type === "" ? {} : { "content-type": made.type, "content-length": body.length }),
    // If the body has not been read completely, the rest must not be mistaken for the next request.
    ...(request.complete ? {} : { connection: "close" }),
    ...made.headers,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

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
const BODY_MAX_BYTES = 4_096;

interface ActionDeps extends Pick<ServerDeps, "clock"> {
  readonly jobs: Jobs;
  readonly config: Pick<ConsoleConfig, "token">;
}

async function handleAction(
  request: IncomingMessage,
  { id }: Extract<Route, { kind: "actions" }>,
  acting: ActionDeps,
): Promise<HttpResponse> {
  const { jobs } = acting;
  const { method } = request;
  if (id === null && (method === "GET" || method === "HEAD")) {
    return json(200, { jobs: jobs.list() });
  }
  if (id === null && method === "POST") return await begin(request, acting);
  if (id !== null && method === "DELETE") {
    return jobs.stop(id) ? empty() : json(404, { error: "No action with this ID is in progress." });
  }
  return notAllowed(id === null ? "GET, HEAD, POST" : "DELETE");
}

async function begin(
  request: IncomingMessage,
  { jobs, config, clock }: ActionDeps,
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
