// Destinations with OAuth 2 while the deliver stage runs, on a Kafka in memory with scripted endpoints.

import { expect, test } from "vitest";
import type { MessageId } from "../../../../src/domain/ids.ts";
import type { OAuth2 } from "../../../../src/router/destinations/webhook/auth-settings.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS, idOf } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";
import type { TokenResponse } from "../../../support/worlds/scripted-tokens.ts";

const AUTH: OAuth2 = {
  type: "oauth2",
  tokenUrl: "https://id.test/secret-path/token",
  clientId: "switchyard",
  clientSecret: "client-secret",
  scope: null,
  privateKey: null,
  keyId: null,
  credentialsIn: "header",
  parameters: {},
};
const DESTINATION = webhookDestination({
  urls: ["http://crm.test/"],
  auth: AUTH,
  messageIdHeader: true,
});
const tokenOf = ({ headers }: Sent) => headers.Authorization?.replace("Bearer ", "");

async function worldOf(
  token: (earlier: number) => TokenResponse,
  respond: (sent: Sent, earlier: number) => ScriptedResponse = () => 200,
  destinations = [DESTINATION],
) {
  const world = new DeliverWorld({ destinations, respond, tokens: token });
  const { deliver } = await world.run();
  const append = (...ids: string[]) => {
    for (const messageId of ids) world.append({ messageId: messageId as MessageId });
  };
  const hold = () => deliver.destinations?.()[0]?.hold ?? null;
  return { world, deliver, append, hold };
}

test("without a token nothing is attempted, and then everything is delivered in order", async () => {
  let isUp = false;
  const { world, deliver, append, hold } = await worldOf(() => (isUp ? "t1" : 503));
  append("m0", "m1", "m2");
  await world.settle(5 * HOUR_MS);
  expect(world.http.sent).toEqual([]);
  expect(hold()).toMatchObject({
    reason: "token",
    error: "No token from https://id.test: status 503",
  });
  expect(deliver.destinations?.()[0]?.state).toBe("on-hold");
  const metric = 'switchyard_destination_on_hold{destination="crm",reason="token"}';
  expect(await world.metrics.text()).toContain(`${metric} 1\n`);
  expect(deliver.healthProblems()).toEqual([
    expect.stringMatching(
      /^destination crm: on hold without a token since .*Z: No token from https:\/\/id.test: status 503$/,
    ),
  ]);
  isUp = true;
  await world.settle(6_000);
  expect(world.sent()).toEqual(["m0", "m1", "m2"]);
  expect(world.http.sent.map(tokenOf)).toEqual(["t1", "t1", "t1"]);
  expect(hold()).toBe(null);
  expect(await world.metrics.text()).toContain(`${metric} 0\n`);
  expect(deliver.healthProblems()).toEqual([]);
  expect(world.deadLetters()).toEqual([]);
  const logged = world.lines.filter(({ msg }) => `${msg}`.startsWith("destination.token"));
  expect(logged.map(({ msg }) => msg)).toEqual([
    "destination.token-missing",
    "destination.token-obtained",
  ]);
});

test("a delivery that was attempted keeps its window while there is no token", async () => {
  const { world, append, hold } = await worldOf(
    (earlier) => (earlier === 0 ? "t1" : 500),
    () => 401,
  );
  append("m0");
  await world.settle(5 * HOUR_MS);
  append("m1");
  await world.settle(5 * HOUR_MS);
  expect(hold()?.reason).toBe("token");
  expect(world.deadLetters()).toEqual([
    expect.objectContaining({ "switchyard-message-id": "m0", "switchyard-reason": "expired" }),
  ]);
  expect(await world.metrics.text()).toContain(
    'switchyard_deliveries_expired_while_due_total{destination="crm",reason="token"} 1\n',
  );
  // The token could not be replaced, and was used until its life was over.
  expect(new Set(world.sent())).toEqual(new Set(["m0"]));
  expect(new Set(world.http.sent.map(tokenOf))).toEqual(new Set(["t1"]));
});

test("a token that ends between the parts of a batch costs no attempt", async () => {
  let isUp = true;
  const batch = {
    calls: 2,
    bytes: 4_096,
    waitMs: 10,
    format: "array",
    responses: "whole",
  } as const;
  const limited = { concurrency: 1, requestsPerSecond: 1 / 4_000, batch };
  const { world, append, hold } = await worldOf(
    (earlier) => (isUp ? `t${earlier + 1}` : 503),
    (sent) => (idOf(sent).includes(",") ? 400 : 200),
    [webhookDestination({ ...DESTINATION, urls: ["http://crm.test/"], ...limited })],
  );
  append("m0", "m1");
  await world.settle(1_000);
  isUp = false;
  await world.settle(3 * HOUR_MS);
  expect(hold()?.reason).toBe("token");
  expect([world.http.sent.map(tokenOf), world.attempts()]).toEqual([["t1"], []]);
  isUp = true;
  await world.settle(6 * HOUR_MS);
  expect(world.attempts()).toMatchObject([
    { messageId: "m0", attempt: 1, decision: "accepted" },
    { messageId: "m1", attempt: 1, decision: "accepted" },
  ]);
  expect(await world.metrics.text()).toContain(
    'switchyard_delivery_requests_total{destination="crm",outcome="token"} 1\n',
  );
});

test("a destination whose endpoint rejects the token does not put others with the same token on hold", async () => {
  const other = webhookDestination({ id: "other", urls: ["http://other.test/"], auth: AUTH });
  const { world, append, deliver } = await worldOf(
    (earlier) => (earlier === 0 ? "t1" : 500),
    ({ url }) => (url === "http://other.test/" ? 200 : 401),
    [DESTINATION, other],
  );
  append("m0");
  await world.settle(1_000);
  for (const id of ["m1", "m2", "m3"]) {
    world.append({ messageId: id as MessageId, destination: other.id });
  }
  await world.settle(10_000);
  expect(deliver.destinations?.().map(({ hold }) => hold)).toEqual([null, null]);
  expect(world.http.sent.filter(({ url }) => url === "http://other.test/")).toHaveLength(3);
});

test("an endpoint that always responds 401 to 1,000 calls causes a few token requests", async () => {
  const { world, append } = await worldOf(
    (earlier) => `t${earlier + 1}`,
    () => 401,
    [webhookDestination({ urls: ["http://crm.test/"], auth: { ...AUTH, clientId: "always" } })],
  );
  append(...Array.from({ length: 1_000 }, (_, n) => `m${n}`));
  await world.settle(60_000);
  expect(world.http.sent.length).toBeGreaterThan(1_000);
  expect(world.tokenRequests.length).toBeLessThanOrEqual(4);
});

test("a 401 is followed by a new token within the same attempt", async () => {
  const { world, append } = await worldOf(
    (earlier) => `t${earlier + 1}`,
    (sent) => (tokenOf(sent) === "t1" ? 401 : 200),
  );
  append("m0", "m1");
  await world.settle(5_000);
  expect(world.http.sent.map((sent) => [idOf(sent), tokenOf(sent)])).toEqual([
    ["m0", "t1"],
    ["m0", "t2"],
    ["m1", "t2"],
  ]);
  expect(world.attempts()).toMatchObject([
    {
      messageId: "m0",
      attempt: 1,
      decision: "accepted",
      requests: [{ status: 200, durationMs: 3 }],
    },
    { messageId: "m1", attempt: 1, decision: "accepted" },
  ]);
});

test("a second 401 is retried later and may expire; a 403 rejects", async () => {
  const { world, append } = await worldOf(
    (earlier) => `t${earlier + 1}`,
    (sent) => (idOf(sent) === "m1" ? 403 : 401),
  );
  append("m0", "m1");
  await world.settle(5 * HOUR_MS);
  const reasons = world.deadLetters().map((deadLetter) => deadLetter["switchyard-reason"]);
  expect(reasons.toSorted()).toEqual(["expired", "rejected"]);
  const [first] = world.attempts();
  expect(first).toMatchObject({ messageId: "m0", attempt: 1, decision: "retry" });
  expect(first).toMatchObject({ requests: [{ status: 401 }] });
});

test("destinations with the same auth share one token, and requests for it are counted once", async () => {
  const other = webhookDestination({
    id: "other",
    urls: ["http://other.test/"],
    auth: { ...AUTH },
  });
  const third = webhookDestination({
    id: "third",
    urls: ["http://third.test/"],
    auth: { ...AUTH, scope: "more" },
  });
  const { world } = await worldOf(
    (earlier) => `t${earlier + 1}`,
    () => 200,
    [DESTINATION, other, third],
  );
  expect(world.tokenRequests.map(({ form }) => form)).toEqual([
    "grant_type=client_credentials",
    "grant_type=client_credentials&scope=more",
  ]);
});

test("new settings apply without a restart, and a disabled destination requests no token", async () => {
  const { world, deliver, append, hold } = await worldOf((earlier) => (earlier < 3 ? 401 : "t9"));
  append("m0");
  await world.settle(1_000);
  expect(hold()?.reason).toBe("token");
  await world.update(deliver, [{ ...DESTINATION, enabled: false }]);
  const requests = world.tokenRequests.length;
  await world.settle(HOUR_MS);
  expect(hold()?.reason).toBe("disabled");
  expect(world.tokenRequests).toHaveLength(requests);
  const auth = { type: "basic", username: "u", password: "p" } as const;
  await world.update(deliver, [{ ...DESTINATION, auth }]);
  await world.settle(1_000);
  expect(world.http.sent.map(({ headers }) => headers.Authorization)).toEqual(["Basic dTpw"]);
  await world.update(deliver, [DESTINATION]);
  append("m1");
  await world.settle(10_000);
  expect(world.http.sent.map(tokenOf).at(-1)).toBe("t9");
});

test.each([
  { type: "basic", username: "u", password: "p" },
  { type: "bearer", token: "fixed" },
] as const)("with %j a 401 is retried", async (auth) => {
  const { world, append } = await worldOf(
    () => 500,
    (_sent, earlier) => (earlier === 0 ? 401 : 200),
    [{ ...DESTINATION, auth }],
  );
  append("m0");
  await world.settle(HOUR_MS);
  expect(world.attempts()).toMatchObject([{ decision: "retry" }, { decision: "accepted" }]);
  expect(world.tokenRequests).toEqual([]);
});
