/**
 * Builds the `Authorization` header of a webhook, and masks the secrets of that header in responses from endpoints.
 * Pure.
 *
 *   auth      the header
 *   oauth2    `Bearer` and the current token
 *   basic     `Basic` and the base64 form of `username:password` in UTF-8 (RFC 7617)
 *   bearer    `Bearer` and the configured token
 */

import type { Phases } from "../port.ts";
import type { WebhookAuth } from "./auth-settings.ts";
import type { WebhookRequest } from "./request.ts";

function basicValue(username: string, password: string): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}

/** @param token the current token, for `oauth2`. */
export function authorizationOf(auth: WebhookAuth, token: string): string {
  const scheme = schemeOf(auth);
  if (auth.type === "basic") return `${scheme} ${basicValue(auth.username, auth.password)}`;
  return `${scheme} ${auth.type === "bearer" ? auth.token : token}`;
}

export function schemeOf({ type }: WebhookAuth): "Basic" | "Bearer" {
  return type === "basic" ? "Basic" : "Bearer";
}

export function withAuthorization(request: WebhookRequest, value: string): WebhookRequest {
  return { ...request, headers: [...request.headers, ["Authorization", value]] };
}

/** The secrets in a request's `Authorization` header, which an endpoint could repeat in its response. */
export function secretsOf(auth: WebhookAuth, token: string): readonly string[] {
  if (auth.type === "bearer") return [auth.token];
  if (auth.type === "oauth2") {
    return auth.clientSecret === null ? [token] : [token, auth.clientSecret];
  }
  const { username, password } = auth;
  return [basicValue(username, password), `${username}:${password}`, password];
}

/** A part of a secret is masked if it has at least this many characters. */
const PART = 12;
const MASK = "*";

/**
 * Masks secrets in the start of a response.
 *
 *   the response contains                                 masked
 *   the secret, or at least 12 consecutive characters     these characters
 *   the same, with % or \ escapes                         the same
 *   a secret of less than 12 characters                   the whole secret
 *   at the end of a cut response, the start of a secret   that start
 *
 * @param isCut true if the response was longer than `bytes`.
 */
export function maskSecrets(bytes: Buffer, secrets: readonly string[], isCut: boolean): Buffer {
  // The string has one character per byte, so that bytes that are not valid UTF-8 stay unchanged.
  let masked = bytes.toString("latin1");
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      masked = maskOne(masked, Buffer.from(form).toString("latin1"), isCut);
    }
  }
  return Buffer.from(masked, "latin1");
}

function formsOf(secret: string): ReadonlySet<string> {
  const json = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret.toWellFormed());
  const lower = encoded.replace(/%../g, (byte) => byte.toLowerCase());
  return new Set([secret, json, json.replaceAll("/", "\\/"), encoded, lower]);
}

function maskOne(text: string, secret: string, isCut: boolean): string {
  const length = Math.min(PART, secret.length);
  const parts = new Set<string>();
  for (let at = 0; at + length <= secret.length; at += 1) parts.add(secret.slice(at, at + length));
  let masked = "";
  let maskedUntil = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (parts.has(text.slice(at, at + length))) maskedUntil = at + length;
    masked += at < maskedUntil ? MASK : text[at];
  }
  if (!isCut) return masked;
  // Longer starts of secrets have already been found above.
  for (let size = length - 1; size > 0; size -= 1) {
    if (text.endsWith(secret.slice(0, size))) return masked.slice(0, -size) + MASK.repeat(size);
  }
  return masked;
}

/** Masks secrets in the kept part of a response. */
export function maskKept(phases: Phases, secrets: readonly string[]): void {
  const { kept, keepBytes = 0 } = phases;
  if (kept === undefined) return;
  const bytes = Buffer.concat(kept);
  phases.kept = [maskSecrets(bytes, secrets, bytes.length >= keepBytes)];
}
