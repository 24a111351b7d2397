/** The sender of a webhook destination with real sockets, as in the deliver stage. */

import { parseNetwork } from "../../../src/domain/addresses.ts";
import type {
  Phases,
  RequestResult,
  Sender,
  SendResult,
} from "../../../src/router/destinations/port.ts";
import type { WebhookAuth } from "../../../src/router/destinations/webhook/auth-settings.ts";
import type { WebhookDestination } from "../../../src/router/destinations/webhook/settings.ts";
import { webhook } from "../../../src/router/destinations/webhook/webhook.ts";
import { parseContent } from "../../../src/router/stage/content.ts";
import { NO_EGRESS } from "../build/lists.ts";
import { recordValue } from "../build/record-value.ts";
import { unitOf, webhookDestination } from "../build/webhook-destination.ts";
import { LOOPBACK, sent } from "./http-client.ts";

export interface Opened extends AsyncDisposable {
  readonly sender: Sender;
  /** Resolves when a token was obtained, or when a token request failed. */
  readonly changed: Promise<unknown>;
  post(phases?: Phases): Promise<SendResult>;
}

/** @param options the private networks that may be requested, and a private CA of all destinations. */
export async function openedSender(
  given: Partial<WebhookDestination> & { readonly auth: WebhookAuth; readonly urls: string[] },
  {
    allow = LOOPBACK,
    ca = null,
    proxy = null,
  }: { allow?: readonly string[]; ca?: string | null; proxy?: string | null } = {},
): Promise<Opened> {
  const allowNetworks = allow.map(parseNetwork).filter((network) => network !== null);
  const destination = webhookDestination(given as Parameters<typeof webhookDestination>[0]);
  const transport = await webhook.attempts?.open({
    timeoutMs: 5_000,
    allowNetworks,
    connectionMaxAgeMs: 60_000,
    ...NO_EGRESS,
    ca,
    proxy,
  });
  const sender = transport?.open(destination);
  const [endpoint] = destination.endpoints;
  if (sender === undefined || endpoint === undefined) throw new Error("it cannot be opened");
  const changed = new Promise<void>((resolve) => sender.readiness?.onChange(resolve));
  const read = parseContent(recordValue(Buffer.from('{"type":"track","event":"e","userId":"u"}')));
  if (read.kind === "refused") throw new Error(read.error);
  const prepared = sender.prepare(unitOf(read.content), Date.now());
  return {
    sender,
    changed,
    post: (phases) =>
      new Promise<RequestResult>((done) => sender.send(endpoint, prepared, done, phases)).then(
        sent,
      ),
    [Symbol.asyncDispose]: () => sender.close(),
  };
}
