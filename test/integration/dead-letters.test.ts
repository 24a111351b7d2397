// From a rejection to the dead letter, its replay and its delivery, with the program as a child process on a real
// Kafka; and the status during this.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

import type { StatusReport } from "../../src/operator/look/status-report.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { configOf, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const CALLS = 60;
const lifetime = untilFileEnds();
const { prefix, brokers } = useKafka("dead-letters", { lifetime });
const admin = `127.0.0.1:${await freePort()}`;

/** The users whose calls were accepted, in order. Requests are rejected while `status` is set to do so. */
const hook = { status: 422, refused: 0, accepted: [] as string[] };
/** The requests to the destination `pair`, and the statuses of its URLs; 200 by default. */
const pair = { requests: [] as string[], statuses: new Map<string, number>() };
const { url: origin } = await useReceiver(({ path, body }) => {
  const { userId } = JSON.parse(body) as { readonly userId: string };
  if (path !== "/") {
    pair.requests.push(`${userId} ${path}`);
    return pair.statuses.get(path) ?? 200;
  }
  if (hook.status === 200) hook.accepted.push(userId);
  else hook.refused += 1;
  return hook.status;
}, lifetime);

/** The configuration with these paths as the endpoints of `pair`. */
const configured = (...paths: readonly string[]) =>
  configOf({
    kafka: { brokers, topicPrefix: prefix, partitions: 2 },
    sources: [
      { id: "web", destinations: ["hook"] },
      { id: "shop", destinations: ["pair"] },
    ],
    destinations: {
      hook: `${origin}/`,
      pair: { deliver: "every", endpoints: paths.map((path) => ({ url: origin + path })) },
    },
    delivery: { retryDelays: ["10s"] },
    admin: { port: Number(admin.split(":")[1]) },
  });

const { file, ready, spawn, inProcess } = useProgram((directory) => {
  const path = join(directory, "dead letters.yaml");
  writeFileSync(path, configured("/a", "/b?token=1"));
  return path;
}, lifetime);
const startReady = () => ready("route,deliver,delay");
const switchyard = inProcess;

async function status(args: readonly string[] = []): Promise<StatusReport> {
  const { out } = await switchyard(["status", "--json", ...args]);
  return JSON.parse(out) as StatusReport;
}

function calls(count: number): string {
  const lines = Array.from({ length: count }, (_, number) =>
    JSON.stringify({ type: "track", event: "e", userId: `u-${number}`, messageId: `m-${number}` }),
  );
  return lines.join("\n");
}

/** All dead letters were replayed: they are sent again only with --include-replayed. */
async function replaysNoneTwice(): Promise<void> {
  const nothing = await switchyard(["dead-letters", "replay", "--destination", "hook"]);
  const left = `0 dead letters to replay. ${CALLS} were replayed before and will be skipped (--include-replayed).`;
  expect(nothing).toEqual({ status: 0, out: `${left}\n`, err: "" });
  const all = await switchyard(["dead-letters", "replay"]);
  expect(all).toMatchObject({ status: 2, err: expect.stringContaining("confirm with --yes") });
  const marked = await switchyard(["dead-letters", "list"]);
  expect(marked.out).toContain(`${CALLS} have been replayed, 0 have not.`);
  const once = await switchyard([
    ...["dead-letters", "replay", "--yes", "--include-replayed", "--limit", "5"],
  ]);
  expect(once).toMatchObject({ status: 0, out: expect.stringContaining("5 of 5 replayed.") });
  await expect.poll(() => hook.accepted.length).toBe(CALLS + 5);
  expect(new Set(hook.accepted).size).toBe(CALLS);
}

test("rejected, listed, replayed with an interruption, delivered; status all the while", async () => {
  const running = await startReady();
  expect(await switchyard(["publish"], calls(CALLS))).toMatchObject({ status: 0 });

  const deadLetters = async () => {
    const { out } = await switchyard(["dead-letters", "list", "--json", "--reason", "rejected"]);
    return out.split("\n").filter((line) => line !== "");
  };
  await expect.poll(async () => (await deadLetters()).length).toBe(CALLS);
  expect(hook.refused).toBe(CALLS);
  const one = await switchyard(["dead-letters", "list", "--message-id", "m-7", "--since", "1h"]);
  expect(one.out).toContain(`${prefix}deliveries.hook/`);
  expect(one.out).toContain("1 dead letter matches.");
  const none = await switchyard(["dead-letters", "list", "--until", "1h"]);
  expect(none.out).toBe("No dead letters match.\n");

  hook.status = 200;
  const dry = await switchyard(["dead-letters", "replay", "--dry-run", "--destination", "hook"]);
  expect(dry).toMatchObject({ status: 0, out: expect.stringContaining("60 dead letters to") });

  const replaying = spawn(["dead-letters", "replay", "--destination", "hook", "--per-second", "2"]);
  const ended = once(replaying, "close");
  const [out = "", err = ""] = [replaying.stdout, replaying.stderr].map((said) =>
    said === null ? "" : text(said),
  );
  await expect.poll(() => hook.accepted.length).toBeGreaterThan(5);
  replaying.kill("SIGINT");
  expect((await ended)[0]).toBe(1);
  const sent = Number(/(\d+) of 60 replayed\./.exec(await out)?.[1]);
  expect(sent).toBeLessThan(CALLS);
  const run = /replay --resume (\S+)/.exec(await err)?.[1] ?? "";
  expect(await err).toContain(`--resume ${run} --config '${file}'\n`);
  await expect.poll(() => hook.accepted.length).toBe(sent);

  const resumed = await switchyard([
    ...["dead-letters", "replay", "--resume", run, "--per-second", "1000"],
  ]);
  expect(resumed).toMatchObject({
    status: 0,
    out: expect.stringContaining(`${CALLS - sent} of ${CALLS - sent} replayed.`),
  });
  await expect.poll(() => hook.accepted.length).toBe(CALLS);
  // No committed record was sent again.
  expect(new Set(hook.accepted).size).toBe(CALLS);
  const again = await switchyard(["dead-letters", "replay", "--resume", run]);
  expect(again).toMatchObject({ status: 2, err: expect.stringContaining("cannot be resumed") });

  await replaysNoneTwice();

  const idle = async () => {
    const report = await status(["--admin", admin]);
    expect(report.processes).toMatchObject([{ admin, error: null }]);
    return report.destinations.find(({ destination }) => destination === "hook");
  };
  await expect.poll(idle).toMatchObject({
    state: "delivering",
    waiting: 0,
    oldestMs: null,
    donePerMinute: expect.any(Number),
    failedPerMinute: expect.any(Number),
    deadLettersLastDay: CALLS,
  });

  expect(await running.stop()).toBe(0);
  await switchyard(["publish"], calls(5));
  // The time limit for reading dead letters is short, which may not be enough on a busy machine.
  await expect
    .poll(() => status(["--admin", admin]))
    .toMatchObject({
      stages: expect.arrayContaining([
        expect.objectContaining({
          ...{ stage: "route", lag: 5, oldestMs: expect.any(Number), donePerMinute: null },
        }),
      ]),
      processes: [{ admin, error: "ECONNREFUSED" }],
      deadLetters: { lastDay: CALLS, byReason: { rejected: CALLS }, replayed: CALLS },
    });
});

test("with `every`, what an endpoint rejected or fails to accept is sent to its new URL, and only there", async () => {
  const running = await startReady();
  const publish = async (userId: string) => {
    const call = JSON.stringify({ type: "track", event: "e", userId, messageId: userId });
    expect(await switchyard(["publish", "--source", "shop"], call)).toMatchObject({ status: 0 });
  };
  const rotate = async (path: string) => {
    const before = running.lines.filter(({ msg }) => msg === "config.applied").length;
    writeFileSync(file, configured("/a", path));
    running.child.kill("SIGHUP");
    await running.logged("config.applied", before + 1);
  };

  // On a slow machine, a retry may be made before the URL is changed.
  const requests = () => [...new Set(pair.requests)].toSorted();

  pair.statuses.set("/b?token=1", 401);
  await publish("p-1");
  const rejected = async () => {
    const { out } = await switchyard(["dead-letters", "list", "--json", "--destination", "pair"]);
    return out;
  };
  await expect.poll(rejected).toContain('"endpoint":"2","endpointName":"pair[2] 127.0.0.1');
  await rotate("/b?token=2");
  const replayed = await switchyard(["dead-letters", "replay", "--destination", "pair"]);
  expect(replayed).toMatchObject({ status: 0, out: expect.stringContaining("1 of 1 replayed.") });
  const first = ["p-1 /a", "p-1 /b?token=1", "p-1 /b?token=2"];
  await expect.poll(requests).toEqual(first);

  pair.statuses.set("/b?token=2", 503);
  await publish("p-2");
  await expect.poll(() => pair.requests.includes("p-2 /b?token=2")).toBe(true);
  await rotate("/b?token=3");
  const second = ["p-2 /a", "p-2 /b?token=2", "p-2 /b?token=3"];
  await expect.poll(requests).toEqual([...first, ...second]);
  expect(await running.stop()).toBe(0);
});
