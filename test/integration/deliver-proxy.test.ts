// A forward proxy that is down for a while, with two processes: no attempt is counted, no retry window starts, one process
// at a time sends probes, and deliveries continue when the proxy is back, also after the process that sent the probes
// was killed. Another proxy applies from the next request.

import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { configOf, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import {
  type ForwardProxy,
  forwardProxy,
  NAME_OF_PROXY,
  respond,
} from "../support/servers/forward-proxy.ts";

const BEFORE = 50;
const DURING = 400;
/** Long enough for the probe of another process to be sent at the same time. */
const PROBE_MS = 3_000;
const PASSWORD = "hunter2-9f3b7c21d8";

async function useProxy(): Promise<ForwardProxy> {
  const proxy = await forwardProxy();
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

const failing = ({ port }: ForwardProxy) =>
  `switchyard_destination_proxy_failing{destination="crm",proxy="localhost:${port}"} 1\n`;

const urlOf = ({ url }: ForwardProxy) => url.replace("//", `//me:${PASSWORD}@`);

async function worldWith(proxy: ForwardProxy) {
  const hook = await useReceiver();
  const kafka = useKafka("proxy");
  const config = (through: ForwardProxy, more: object = {}) =>
    configOf({
      kafka: { brokers: kafka.brokers, topicPrefix: kafka.prefix, partitions: 2 },
      destinations: {
        crm: {
          endpoints: [{ url: `${hook.url.replace("127.0.0.1", NAME_OF_PROXY)}/hook` }],
          attemptHeader: true,
          ...more,
        },
      },
      delivery: { retryDelays: ["1s"], retryWindow: "4s", proxy: urlOf(through) },
      admin: { reload: true },
    });
  const world = useProgram(config(proxy));
  return { ...kafka, hook, config, world };
}

test("while the proxy is down nothing is attempted, and its return lets both processes deliver", async () => {
  const proxy = await useProxy();
  const { hook, publish, world, writtenTo } = await worldWith(proxy);
  const programs = await Promise.all([world.ready(), world.ready()]);
  await publish(BEFORE);
  await expect.poll(() => hook.taken.length).toBe(BEFORE);

  await proxy.stop();
  await publish(DURING);
  const name = `the proxy localhost:${proxy.port}`;
  for (const program of programs) {
    const { error } = await program.logged("endpoint.proxy-failed");
    expect(error).toBe(`${name} refused the connection`);
    await expect.poll(() => program.get("/readyz")).toContain(name);
    expect(await program.get("/status")).toContain('"reason": "proxy"');
    expect(await program.get("/metrics")).toContain(failing(proxy));
  }
  // It is back, but rejects the credentials.
  let [probes, probesMost] = [0, 0];
  proxy.manner = (socket) => {
    probes += 1;
    probesMost = Math.max(probesMost, probes);
    setTimeout(() => {
      probes -= 1;
      respond(socket, 407);
    }, PROBE_MS);
  };
  const heads = proxy.heads.length;
  await proxy.start();
  await expect.poll(() => proxy.heads.length - heads, { timeout: 60_000 }).toBeGreaterThan(1);
  const addresses = await Promise.all(programs.map((program) => program.admin()));
  const status = await world.inProcess([
    "status",
    ...addresses.flatMap((address) => ["--admin", address]),
  ]);
  expect(status.out).toContain(name);
  // The process that sends the probes is killed. Which one it is depends on random IDs, so it is the first one.
  await programs[0].kill();
  const another = proxy.heads.length;
  await expect.poll(() => proxy.heads.length, { timeout: 60_000 }).toBeGreaterThan(another);
  expect([hook.taken.length, probesMost]).toEqual([BEFORE, 1]);
  expect(await programs[1].sample("switchyard_delivery_attempts_total")).toBeLessThanOrEqual(
    BEFORE,
  );

  proxy.manner = "tunnel";
  await expect
    .poll(() => new Set(hook.ids("/hook")).size, { timeout: 60_000 })
    .toBe(BEFORE + DURING);
  expect(hook.taken.map(({ headers }) => headers["x-switchyard-attempt"])).toEqual(
    hook.taken.map(() => "1"),
  );
  expect(await writtenTo("delays.1s")).toBe(0);
  expect(await writtenTo("dead-letters")).toBe(0);
  await programs[1].logged("endpoint.proxy-works");
  for (const { lines } of programs) expect(JSON.stringify(lines)).not.toContain(PASSWORD);
  expect(status.out + (await programs[1].get("/status"))).not.toContain(PASSWORD);
});

test("another proxy, and none, apply from the next request, and old tunnels are closed", async () => {
  const [one, other] = [await useProxy(), await useProxy()];
  const { hook, publish, world, config } = await worldWith(one);
  const program = await world.ready();
  const reload = async (text: string) => {
    writeFileSync(world.file, text);
    const response = await fetch(`http://${await program.admin()}/-/reload`, { method: "POST" });
    return await response.text();
  };
  await publish(1);
  await expect.poll(() => hook.taken.length).toBe(1);
  expect([one.heads.length, other.heads.length]).toEqual([1, 0]);
  expect(await reload(config(other))).toContain('"outcome": "applied"');
  await expect.poll(one.open).toBe(0);
  await publish(1);
  await expect.poll(() => hook.taken.length).toBe(2);
  expect([one.heads.length, other.heads.length]).toEqual([1, 1]);
  // A proxy that fails is replaced.
  await other.stop();
  await publish(1);
  await program.logged("endpoint.proxy-failed");
  expect(await program.get("/metrics")).toContain(failing(other));
  await reload(config(one));
  await expect.poll(() => hook.taken.length).toBe(3);
  await program.logged("endpoint.proxy-works");
  expect(await program.get("/metrics")).not.toContain("switchyard_destination_proxy_failing{");
  expect([one.heads.length, other.heads.length]).toEqual([2, 1]);
  // Only the proxy knows the name, so without it the request cannot be sent.
  await reload(config(one, { proxy: "none" }));
  await publish(1);
  await expect
    .poll(() =>
      program.sample('switchyard_delivery_requests_total{destination="crm",outcome="dns"}'),
    )
    .toBe(1);
  expect([one.heads.length, other.heads.length]).toEqual([2, 1]);
  expect(JSON.stringify(program.lines)).not.toContain(PASSWORD);
});

test("if the proxy fails, there is no token, and the reason names the proxy", async () => {
  const proxy = await useProxy();
  const { hook, publish, world, config, writtenTo } = await worldWith(proxy);
  const tokenUrl = `${hook.url.replace("127.0.0.1", NAME_OF_PROXY)}/token`;
  const auth = { type: "oauth2", tokenUrl, clientId: "c", clientSecret: PASSWORD };
  writeFileSync(world.file, config(proxy, { auth }));
  await proxy.stop();
  const program = await world.ready();
  await publish(1);
  await expect
    .poll(() => program.get("/readyz"))
    .toMatch(/on hold without a token since .*: the proxy localhost:\d+ refused the connection/);
  expect([hook.taken.length, await writtenTo("delays.1s")]).toEqual([0, 0]);
});
