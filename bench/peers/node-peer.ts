/** The code that the Node peers share: their settings, and the signed request for a record. */

import { createHmac } from "node:crypto";
import { Agent, RetryAgent, request } from "undici";

const { PEER_BROKERS = "", PEER_GROUP = "", PEER_ROUTES = "", PEER_SECRET = "" } = process.env;

export const BROKERS = PEER_BROKERS.split(",");
export const GROUP = PEER_GROUP;
export const SESSION_TIMEOUT_MS = 10_000;
/** The topic and the URL of each destination. */
export const ROUTES = PEER_ROUTES.split(" ").map((route) => {
  const [topic = "", url = ""] = route.split("=");
  return { topic, url };
});

const TIMEOUTS = { headersTimeout: 5_000, bodyTimeout: 5_000, connect: { timeout: 5_000 } };
const ONCE = new Agent({ connections: 64, ...TIMEOUTS });
/** By default, `RetryAgent` of undici retries neither a POST request nor a timeout, according to its documentation. */
const REPEATED = new RetryAgent(ONCE, {
  maxRetries: 60,
  minTimeout: 1_000,
  timeoutFactor: 1,
  methods: ["POST"],
  statusCodes: [500, 502, 503, 504, 429],
  errorCodes: ["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_SOCKET", "ECONNRESET", "ECONNREFUSED"],
});

/**
 * @param isRepeated if true, retries every second for a minute; otherwise, makes one attempt
 * @throws if none of the attempts was accepted.
 */
export async function post(
  url: string,
  messageId: string,
  body: Buffer,
  isRepeated: boolean,
): Promise<void> {
  const headers = {
    "content-type": "application/json",
    "x-switchyard-message-id": messageId,
    "x-signature": createHmac("sha1", PEER_SECRET).update(body).digest("hex"),
  };
  const dispatcher = isRepeated ? REPEATED : ONCE;
  const response = await request(url, { method: "POST", headers, body, dispatcher });
  await response.body.dump();
  if (response.statusCode >= 300) throw new Error(`${url} responded ${response.statusCode}`);
}
