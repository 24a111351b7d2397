/**
 * A signed request by `undici.request` alone: the yardstick of `bench deliver`, `product` and
 * `everyday`. Body and signature are computed each time, and the answer's body is read.
 */

import { createHmac } from "node:crypto";

import { type Agent, request } from "undici";

import { BENCH_SECRET } from "./deliver-work.ts";

/** @param more further headers. @throws Error for any answer but 200. */
export async function plainRequest(
  url: string,
  dispatcher: Agent,
  payload: object,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const body = Buffer.from(JSON.stringify(payload));
  const { statusCode, body: answer } = await request(url, {
    method: "POST",
    dispatcher,
    headers: {
      "User-Agent": "Switchyard/1.0",
      "Content-Type": "application/json",
      "X-Signature": createHmac("sha1", BENCH_SECRET).update(body).digest("hex"),
      ...more,
    },
    body,
  });
  await answer.text();
  if (statusCode !== 200) throw new Error(`the receiver answered ${statusCode}`);
}
