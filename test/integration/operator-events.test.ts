// Operator events, with the real program on a real Kafka: a pause by a command and by the configuration, a rejected
// file, a restart that repeats no event, a sync that awaits approval, deliveries that expire; and the operator webhook.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "vitest";

import { verify, verifyStandard } from "../../src/sdk/webhooks/index.ts";
import { issue } from "../support/build/certificates.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { startReceiver, useReceiver } from "../support/kit/receiver.ts";

/** @param sections `operatorEvents` and `delivery`, as far as they differ from the usual ones. */
async function startWorld(
  { onTestFinished }: TestContext,
  sections: { readonly webhook?: object; readonly delivery?: object } = {},
) {
  const { prefix, brokers, recordsIn } = useKafka("events", { lifetime: onTestFinished });
  const { webhook, delivery } = sections;
  const world = useProgram(
    {
      kafka: { brokers, topicPrefix: prefix, partitions: 2 },
      destinations: { crm: "http://127.0.0.1:9/" },
      audienceDefaults: { source: "web", approvalShare: 0.1, approvalMinimum: 0 },
      delivery: { retryDelays: ["1s"], allowNetworks: ["127.0.0.0/8", "::1/128"], ...delivery },
      operatorEvents: { enabled: true, ...(webhook && { webhook }) },
    },
    onTestFinished,
  );
  const events = async (): Promise<readonly (readonly [string, OperatorEvent | null])[]> =>
    (await recordsIn("operator-events")).map(({ key, value }) => [
      `${key}`,
      value === null ? null : (JSON.parse(`${value}`) as OperatorEvent),
    ]);
  const reported = async () => (await events()).map(([key, event]) => [key, event?.type ?? null]);
  return { world, events, reported };
}

interface OperatorEvent {
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const PAUSED = ["destination.paused/crm", "switchyard.destination.paused"];
const RESUMED = ["destination.paused/crm", "switchyard.destination.resumed"];
const REFUSED = ["configuration.invalid/configuration", "switchyard.configuration.invalid"];
const CLOSED = ["configuration.invalid/configuration", null];

test.concurrent("what operators must know is reported once, also over a restart", async (context) => {
  const { expect } = context;
  const { world, reported } = await startWorld(context);
  const first = await world.ready("deliver");
  expect(await world.inProcess(["pause", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(reported).toEqual([PAUSED]);
  await first.kill();

  await world.ready("deliver");
  const good = readFileSync(world.file, "utf8");
  writeFileSync(world.file, good.replace('"type": "webhook"', '"type": "webhok"'));
  // By then, the process has checked its state, and has not written the event of the pause again.
  await expect.poll(reported).toEqual([PAUSED, REFUSED]);
  writeFileSync(world.file, good);
  await expect.poll(reported).toEqual([PAUSED, REFUSED, CLOSED]);
  expect(await world.inProcess(["resume", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(reported).toEqual([PAUSED, REFUSED, CLOSED, RESUMED]);
});

const SECRET = "whsec_c2VjcmV0IG9mIG9wZXJhdG9ycw==";

test.concurrent("the operator's webhook gets events, signed; a restart posts what it did not accept, once and in order", async (context) => {
  const { expect } = context;
  const { onTestFinished } = context;
  let isRefusing = true;
  const { url, taken } = await useReceiver(() => (isRefusing ? 503 : 200), onTestFinished);
  const webhook = { url, sharedSecret: SECRET };
  const { world, reported } = await startWorld(context, { webhook });
  const accepted = () => taken.filter(({ status }) => status === 200);
  const first = await world.ready("deliver");
  await world.inProcess(["pause", "crm"]);
  await expect.poll(() => taken.length).toBeGreaterThan(0);
  await expect.poll(reported).toEqual([PAUSED]);
  await first.kill();
  isRefusing = false;

  await world.ready("deliver");
  await expect.poll(() => accepted().length).toBe(1);
  await world.inProcess(["resume", "crm"]);
  await expect.poll(() => accepted().length).toBe(2);
  const events = accepted().map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(events.map(({ type }) => type)).toEqual([PAUSED[1], RESUMED[1]]);
  for (const [index, { headers, body }] of accepted().entries()) {
    expect(headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
    expect(headers["webhook-id"]).toBe(events[index]?.id);
    expect(verify(body, `${headers["x-signature"]}`, SECRET)).toBe(true);
    expect(verifyStandard(body, headers, SECRET)).toBe(true);
  }
});

test.concurrent("the operator's webhook that does not respond delays neither the end of readiness nor the stop of the stages", async (context) => {
  const { expect, onTestFinished } = context;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { url, taken } = await useReceiver(() => released.then(() => 200), onTestFinished);
  const { world } = await startWorld(context, { webhook: { url } });
  const program = await world.ready("deliver");
  const readyz = `http://${await program.admin()}/readyz`;
  await world.inProcess(["pause", "crm"]);
  await expect.poll(() => taken.length).toBe(1);
  expect((await fetch(readyz)).status).toBe(200);

  const ended = program.stop();
  await program.logged("stage.stopped");
  expect((await fetch(readyz)).status).toBe(503);
  expect(taken).toMatchObject([{ status: 0 }]);
  release();
  expect(await ended).toBe(0);
});

test.concurrent("the operator's webhook trusts a private CA that replaces the current one, without a restart", async (context) => {
  const { expect, onTestFinished } = context;
  const folder = mkdtempSync(join(tmpdir(), "switchyard-operator-ca-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [before, after] = ["before", "after"].map((name) => issue({ name, isCa: true }));
  const { cert, key } = issue({
    name: "operator",
    hosts: ["localhost"],
    ...(after && { by: after }),
  });
  await using server = await startReceiver(() => 200, { cert, key });
  const ca = join(folder, "ca.pem");
  writeFileSync(ca, before?.cert ?? "");
  const { world } = await startWorld(context, {
    webhook: { url: server.url.replace("127.0.0.1", "localhost") },
    delivery: { ca },
  });
  const program = await world.ready("deliver");
  await world.inProcess(["pause", "crm"]);
  expect(await program.logged("operator-webhook.failing")).toMatchObject({
    cause: "tls-unknown-ca",
  });
  writeFileSync(ca, after?.cert ?? "");
  await expect.poll(() => server.taken.length, { timeout: 60_000 }).toBeGreaterThan(0);
});

const APPROVAL = "audience.approval_required/vip";
const EXPIRING = "deliveries.expiring/crm";

test.concurrent("a sync that awaits approval is reported until it is approved; deliveries that expire, once", async (context) => {
  const { expect } = context;
  // The first attempt fails, and the next one is due shortly before the end of the window. The process checks every 5
  // s, which is more than once in the last quarter of the window.
  const { world, events } = await startWorld(context, {
    delivery: { retryWindow: "40s", retryDelays: ["39s"] },
  });
  await world.ready("route,audience,deliver,delay");
  const calls = join(world.directory, "calls.jsonl");
  const ids = ["m-1", "m-2", "m-3"];
  const call = { type: "track", userId: "u", event: "E" };
  writeFileSync(calls, ids.map((messageId) => JSON.stringify({ ...call, messageId })).join("\n"));
  expect(await world.inProcess(["publish", calls])).toMatchObject({ status: 0 });

  const users = join(world.directory, "users.txt");
  const sync = async (...all: readonly string[]) => {
    writeFileSync(users, all.join("\n"));
    const published = ["audience", "publish", "--name", "VIP", "--file", users];
    expect(await world.inProcess(published)).toMatchObject({ status: 0 });
  };
  const of = async (key: string) =>
    (await events()).flatMap(([each, event]) => (each === key ? [event] : []));
  await sync("u-1", "u-2", "u-3", "u-4");
  await sync("u-1", "u-4");
  const required = {
    type: "switchyard.audience.approval_required",
    subject: "vip",
    data: { sync: expect.any(String), removals: 2 },
  };
  await expect.poll(() => of(APPROVAL)).toMatchObject([required]);
  const members = async () => (await world.inProcess(["audience", "members", "vip"])).out;
  expect((await members()).split("\n").toSorted()).toEqual(["", "u-1", "u-2", "u-3", "u-4"]);
  expect(await world.inProcess(["audience", "approve", "vip"])).toMatchObject({
    status: 0,
    out: expect.stringContaining("2 users will be removed"),
  });
  await expect.poll(members).toBe("u-1\nu-4\n");
  await expect.poll(() => of(APPROVAL)).toMatchObject([required, null]);

  await expect
    .poll(() => of(EXPIRING))
    .toMatchObject([
      {
        type: "switchyard.deliveries.expiring",
        subject: "crm",
        data: { count: expect.any(Number), firstExpiresAt: expect.stringMatching(/Z$/) },
      },
    ]);
});
