/**
 * Builds the `Authorization` header of a webhook, and masks the secrets of that header in responses from endpoints.
 * Pure.
 *
 *   auth      the header
 *   oauth2    `Bearer` and the current token
 *   basic     `Basic` and the base64 form of `username:password` in UTF-8 (RFC 7617)
 *   bearer    `Bearer` and the configured token
 */

import { secretSettings, secretTexts } from "../../../base/settings/secret-settings.ts";
import type { Phases } from "../port.ts";
import type { WebhookAuth } from "./auth-settings.ts";
import type { WebhookRequest } from "./request.ts";
import { type WebhookDestination, webhookSettings } from "./settings.ts";

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

const SECRETS = secretSettings(webhookSettings);

/** The secrets of a destination, and in its requests, which an endpoint could repeat in its response. */
export function secretsOf(destination: WebhookDestination, token: string): readonly string[] {
  const { auth } = destination;
  const endpoints = destination.endpoints.map(({ url, headers }) => {
    return { url, headers: headers.map(([, value]) => value) };
  });
  const configured = secretTexts(SECRETS, { ...destination, endpoints });
  if (auth?.type === "oauth2") return [token, ...configured];
  if (auth?.type !== "basic") return configured;
  const { username, password } = auth;
  return [basicValue(username, password), `${username}:${password}`, password, ...configured];
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
  const { heads, byLength, starts } = partsOf(secrets);
  // The string has one character per byte, so that bytes that are not valid UTF-8 stay unchanged.
  const text = bytes.toString("latin1");
  const masked = Buffer.from(bytes);
  for (let at = 0; at + 1 < bytes.length; at += 1) {
    if (!heads.has(bytes.readUInt16BE(at))) continue;
    for (const [length, parts] of byLength) {
      if (parts.has(text.slice(at, at + length))) masked.fill(MASK, at, at + length);
    }
  }
  // Longer starts of secrets have already been found above.
  let size = isCut ? PART - 1 : 0;
  while (size > 0 && !starts.has(text.slice(-size))) size -= 1;
  return masked.fill(MASK, masked.length - size);
}

interface SecretParts {
  readonly secrets: readonly string[];
  /** The first two bytes of all parts: few texts have them, so most characters need only this check. */
  readonly heads: ReadonlySet<number>;
  readonly byLength: ReadonlyMap<number, ReadonlySet<string>>;
  /** All starts that are shorter than a part. */
  readonly starts: ReadonlySet<string>;
}

/** Only these are kept, because those of all destinations would take too much memory. */
let lastParts: SecretParts | null = null;

function partsOf(secrets: readonly string[]): SecretParts {
  if (lastParts?.secrets === secrets) return lastParts;
  const byLength = new Map<number, Set<string>>();
  const starts = new Set<string>();
  const heads = new Set<number>();
  for (const form of secrets.flatMap((secret) => [...formsOf(secret)])) {
    const secret = Buffer.from(form).toString("latin1");
    const length = Math.min(PART, secret.length);
    const parts = byLength.get(length) ?? new Set();
    byLength.set(length, parts);
    for (let at = 0; at + length <= secret.length; at += 1) {
      parts.add(secret.slice(at, at + length));
      heads.add(secret.charCodeAt(at) * 256 + secret.charCodeAt(at + 1));
    }
    for (let size = 1; size < length; size += 1) starts.add(secret.slice(0, size));
  }
  lastParts = { secrets, heads, byLength, starts };
  return lastParts;
}

function formsOf(secret: string): ReadonlySet<string> {
  const json = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret.toWellFormed());
  const lower = encoded.replace(/%../g, (byte) => byte.toLowerCase());
  return new Set([secret, json, json.replaceAll("/", "\\/"), encoded, lower]);
}

/** Masks secrets in the kept part of a response. */
export function maskKept(phases: Phases, secrets: readonly string[]): void {
  const { kept, keepBytes = 0 } = phases;
  if (kept === undefined) return;
  const bytes = Buffer.concat(kept);
  phases.kept = [maskSecrets(bytes, secrets, bytes.length >= keepBytes)];
}
