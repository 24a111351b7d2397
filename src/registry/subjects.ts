/**
 * Handles a registry's subjects for commands: checks whether a schema is registered or could be registered, and
 * registers it. Compatibility is `BACKWARD_TRANSITIVE`: a new schema can read values that were written with any earlier
 * one.
 *
 *   the registry                                   the schema is
 *   has the schema under the subject               registered
 *   does not have the subject                      new
 *   reports that it can read all versions' values  compatible
 *   reports that it cannot                         incompatible
 *   rejects it as invalid, but it has references   unchecked: Apicurio resolves references only when a
 *                                                  schema is registered, and checks it then
 *
 * All requests use `normalize`, so that spaces and the order of attributes do not create a version.
 * Schemas are registered with `@kafkajs/confluent-schema-registry`, at a URL that has just responded.
 */

import { Agent as HttpsAgent } from "node:https";
import { createRequire } from "node:module";

import type * as Library from "@kafkajs/confluent-schema-registry";
import { secureContext } from "../base/http/tls.ts";
import { asError } from "../base/runtime/as-error.ts";
import { visibleCell } from "../domain/escape-control.ts";
import { jsonObjectIn } from "../domain/json.ts";
import { failureText, type Reference } from "./classify-response.ts";
import { COMPATIBILITY, type RegistryConnection } from "./port.ts";
import {
  createExchange,
  type Exchanged,
  type Exchanging,
  type RegistryRequest,
} from "./registry-request.ts";

const MESSAGE_SHOWN_CHARACTERS = 500;
const NO_SUBJECT = 40_401;
const NO_SCHEMA = 40_403;
const INVALID_SCHEMA = 42_201;

export interface SubjectSchema {
  /** The name of the subject, including its context if it has one. */
  readonly subject: string;
  readonly text: string;
  readonly references: readonly Reference[];
}

export type SubjectState =
  | { readonly kind: "registered"; readonly id: number; readonly version: number }
  | { readonly kind: "new" }
  | { readonly kind: "compatible" | "unchecked" }
  /** The reason from the registry; empty if there is none. */
  | { readonly kind: "incompatible"; readonly why: string };

export interface CheckedSubject {
  readonly state: SubjectState;
  /** The compatibility of the subject or, if it has none, of the registry; null if neither has one. */
  readonly compatibility: string | null;
}

/** If the registry is unreachable or rejects the request, all methods except closing throw an Error with a sentence. */
export interface Subjects extends AsyncDisposable {
  check(schema: SubjectSchema, signal: AbortSignal): Promise<CheckedSubject>;
  /** Sets the compatibility, checks, and registers. Returns the new state. */
  register(schema: SubjectSchema, signal: AbortSignal): Promise<SubjectState>;
}

/** @throws Error if the TLS files cannot be used. */
export function createSubjects(connection: RegistryConnection): Subjects {
  const exchanging = createExchange(connection);
  return new RegistrySubjects(connection, exchanging);
}

interface SubjectResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

class RegistrySubjects implements Subjects {
  readonly #connection: RegistryConnection;
  readonly #exchanging: Exchanging;
  /** The URL that most recently responded. */
  #url: string;

  constructor(connection: RegistryConnection, exchanging: Exchanging) {
    this.#connection = connection;
    this.#exchanging = exchanging;
    this.#url = connection.urls[0] ?? "";
  }

  async check(schema: SubjectSchema, signal: AbortSignal): Promise<CheckedSubject> {
    const level = await this.#request(
      { method: "GET", url: `/config/${named(schema)}?defaultToGlobal=true` },
      signal,
    );
    const { compatibilityLevel } = level.body;
    const compatibility = typeof compatibilityLevel === "string" ? compatibilityLevel : null;
    return { compatibility, state: await this.#stateOf(schema, signal) };
  }

  async register(schema: SubjectSchema, signal: AbortSignal): Promise<SubjectState> {
    const body = { compatibility: COMPATIBILITY };
    const set = await this.#request(
      { method: "PUT", url: `/config/${named(schema)}`, body },
      signal,
    );
    if (set.status !== 200) throw rejection(schema, set);
    const before = await this.#stateOf(schema, signal);
    if (before.kind === "registered" || before.kind === "incompatible") return before;
    const { subject, text } = schema;
    const { library, registry } = await this.#library();
    const compatibility = library.COMPATIBILITY[COMPATIBILITY];
    try {
      await registry.register(
        { type: library.SchemaType.AVRO, schema: text, references: [...schema.references] },
        { subject, compatibility },
      );
    } catch (cause) {
      const why = shown(asError(cause).message);
      throw new Error(`The schema registry has not registered ${subject}: ${why}`, { cause });
    }
    return await this.#stateOf(schema, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#exchanging[Symbol.asyncDispose]());
  }

  async #stateOf(schema: SubjectSchema, signal: AbortSignal): Promise<SubjectState> {
    const body = { schema: schema.text, references: schema.references };
    const found = await this.#request(
      { method: "POST", url: `/subjects/${named(schema)}?normalize=true`, body },
      signal,
    );
    const { id, version } = found.body;
    if (found.status === 200 && typeof id === "number" && typeof version === "number") {
      return { kind: "registered", id, version };
    }
    const code = found.body.error_code;
    if (found.status !== 404 || (code !== NO_SUBJECT && code !== NO_SCHEMA)) {
      throw rejection(schema, found);
    }
    if (code === NO_SUBJECT) return { kind: "new" };
    const path = `/compatibility/subjects/${named(schema)}/versions?verbose=true&normalize=true`;
    const checked = await this.#request({ method: "POST", url: path, body }, signal);
    // A subject may exist without a version.
    if (checked.status === 404) return { kind: "new" };
    const isInvalid = checked.body.error_code === INVALID_SCHEMA;
    if (isInvalid && schema.references.length > 0) return { kind: "unchecked" };
    const { is_compatible: isCompatible, messages } = checked.body;
    if (checked.status !== 200 || typeof isCompatible !== "boolean")
      throw rejection(schema, checked);
    if (isCompatible) return { kind: "compatible" };
    const why = Array.isArray(messages) ? messages.filter((each) => typeof each === "string") : [];
    return { kind: "incompatible", why: shown(why.join("; ")) };
  }

  /** @param request the request, whose URL is only the path below the registry's URL. */
  async #request(request: RegistryRequest, signal: AbortSignal): Promise<SubjectResponse> {
    const failures: string[] = [];
    const others = this.#connection.urls.filter((url) => url !== this.#url);
    for (const base of [this.#url, ...others]) {
      const url = `${base.replace(/\/+$/, "")}${request.url}`;
      const exchanged = await this.#exchanging.exchange({ ...request, url }, signal);
      const response = responseOf(exchanged);
      if (response !== null) {
        this.#url = base;
        return response;
      }
      failures.push(`${new URL(base).origin} ${failureText(exchanged)}`);
    }
    throw new Error(`The schema registry is not available: ${failures.join("; and ")}.`);
  }

  /** The library is loaded here, because it takes 13 MB and 0.1 s, and no other command needs it. */
  async #library() {
    const load = createRequire(import.meta.url);
    const library: typeof Library = load("@kafkajs/confluent-schema-registry");
    const { tls } = this.#connection;
    const headers = await this.#exchanging.authenticationHeaders();
    const context = tls === null ? {} : { secureContext: secureContext(tls) };
    const agent = new HttpsAgent({ ...context, rejectUnauthorized: true });
    const registry = new library.SchemaRegistry({
      host: this.#url.replace(/\/+$/, ""),
      ...(new URL(this.#url).protocol === "https:" ? { agent } : {}),
      // Requests are not retried, because a request that failed may have been carried out. Running the command again is
      // safe.
      retry: { retries: 0 },
      middlewares: [
        () => ({ request: (request) => request.enhance({ headers, params: { normalize: true } }) }),
      ],
    });
    return { library, registry };
  }
}

/** Returns null if there was no response, or if the response was not from a registry. */
function responseOf(exchanged: Exchanged): SubjectResponse | null {
  if (exchanged.kind !== "response") return null;
  const { status } = exchanged;
  const body = jsonObjectIn(exchanged.body);
  const isRejection =
    status >= 500 || (status >= 300 && status < 400) || [401, 403, 429].includes(status);
  if (body === null || isRejection) return null;
  return status === 404 && typeof body.error_code !== "number" ? null : { status, body };
}

function named({ subject }: SubjectSchema): string {
  return encodeURIComponent(subject.toWellFormed());
}

function rejection({ subject }: SubjectSchema, { status, body }: SubjectResponse): Error {
  const why = typeof body.message === "string" ? `: ${shown(body.message)}` : "";
  return new Error(`The schema registry rejected ${subject} (${status})${why}`);
}

function shown(text: string): string {
  return visibleCell(text.slice(0, MESSAGE_SHOWN_CHARACTERS));
}
