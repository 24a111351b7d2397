// What `explain` shows for a webhook: its requests, without the secrets for authentication.

import { expect, test } from "vitest";
import type { WebhookAuth } from "../../../../../src/router/destinations/webhook/auth-settings.ts";
import { judge } from "../../../../../src/router/destinations/webhook/judge.ts";
import { webhook } from "../../../../../src/router/destinations/webhook/webhook.ts";
import { parseContent } from "../../../../../src/router/stage/content.ts";
import { NO_EGRESS } from "../../../../support/build/lists.ts";
import { recordValue } from "../../../../support/build/record-value.ts";
import { unitOf, webhookDestination } from "../../../../support/build/webhook-destination.ts";

const OAUTH: WebhookAuth = {
  type: "oauth2",
  tokenUrl: "https://id.example/token",
  clientId: "c",
  clientSecret: "hunter2",
  scope: null,
  privateKey: null,
  keyId: null,
  credentialsIn: "header",
  parameters: { extra: "hunter2" },
};

test.each<readonly [auth: WebhookAuth | null, shown: string | undefined]>([
  [null, undefined],
  [OAUTH, "Bearer (hidden)"],
  [{ type: "bearer", token: "hunter2" }, "Bearer (hidden)"],
  [{ type: "basic", username: "u", password: "hunter2" }, "Basic (hidden)"],
])("of %j a preview shows %j", (auth, shown) => {
  const destination = webhookDestination({ auth });
  const [endpoint] = destination.endpoints;
  const read = parseContent(recordValue(Buffer.from('{"type":"track","event":"e","userId":"u"}')));
  if (endpoint === undefined || read.kind === "refused") throw new Error("nothing to preview");
  const preview = webhook.attempts?.preview(
    destination,
    unitOf(read.content),
    endpoint,
    0,
    NO_EGRESS,
  );
  expect(new Map(preview?.headers).get("Authorization")).toBe(shown);
  expect(JSON.stringify(preview)).not.toContain("hunter2");
  expect(JSON.stringify(preview)).not.toContain(Buffer.from("u:hunter2").toString("base64"));
});

test.each([
  [401, false, "rejected"],
  [401, true, "retry"],
  [403, true, "rejected"],
  [200, true, "accepted"],
])("%i with auth %s is %s", (status, hasAuth, kind) => {
  const result = { kind: "response", status, retryAfter: "7", durationMs: 0 } as const;
  const outcome = judge(result, 0, hasAuth);
  expect(outcome).toMatchObject(kind === "retry" ? { kind, retryAfterMs: 7_000 } : { kind });
});
