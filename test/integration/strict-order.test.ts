// Destinations with a strict order, on a real Kafka with two processes: only the user whose call fails waits, also after
// both processes were killed and one of them started again; a reload to a loose order delivers what waits. With `deliver:
// every`, the endpoint that accepted the call does not get it again, nor a later one of its user.

import { renameSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";

import { eachResponse } from "../../src/sdk/webhooks/index.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { configOf, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const STAGES = "route,deliver,delay";
const USERS = 5;
const CALLS = 50;
const PATHS = ["/alone", "/batched", "/second"];

async function startWorld() {
  /** The message IDs that are not accepted, except at `/first`. */
  const failing = new Set<string>();
  /** The message IDs that were accepted at a path, in the order of their first acceptance. */
  const accepted = new Map<string, string[]>();
  /** The message IDs of all requests at `/first`. */
  const atFirst: string[] = [];
  const receiver = await useReceiver(({ path, id }) => {
    if (path === "/first") {
      atFirst.push(id);
      return 200;
    }
    const ids = id.split(",");
    const statuses = ids.map((each) => (failing.has(each) ? 503 : 200));
    const known = accepted.get(path) ?? [];
    accepted.set(path, known);
    known.push(...ids.filter((each) => !failing.has(each) && !known.includes(each)));
    if (path !== "/batched") return statuses[0] ?? 200;
    return { body: eachResponse(ids, new Map(statuses.map((status, at) => [at, { status }]))) };
  });
  const own = useKafka("strict-order");
  const configWith = (order: "strict" | "loose") => {
    const to = (...paths: readonly string[]) => ({
      endpoints: paths.map((path) => ({ url: `${receiver.url}/${path}` })),
      order,
    });
    return configOf({
      kafka: { brokers: own.brokers, topicPrefix: own.prefix, partitions: 3 },
      destinations: {
        alone: to("alone"),
        both: { ...to("first", "second"), deliver: "every" },
        batched: { ...to("batched"), batch: { calls: 5, responses: "each" } },
      },
      delivery: { retryDelays: ["500ms", "1s"], retryWindow: "60s" },
    });
  };
  const world = useProgram(configWith("strict"));
  const reload = (order: "strict" | "loose") => {
    writeFileSync(`${world.file}.tmp`, configWith(order));
    renameSync(`${world.file}.tmp`, world.file);
  };
  const acceptedAt = (path: string) => accepted.get(path) ?? [];
  return { ...own, failing, world, reload, acceptedAt, atFirst };
}

const userOf = (id: string) => Number(id.slice(1)) % USERS;

/** Each user's calls were first accepted in the order of their numbers. */
function expectOrder(ids: readonly string[]): void {
  for (let user = 0; user < USERS; user += 1) {
    const numbers = ids.filter((id) => userOf(id) === user).map((id) => Number(id.slice(1)));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  }
}

test("only the user whose call fails waits, in order, also after both processes were killed", async () => {
  const { failing, world, reload, acceptedAt, atFirst, publish } = await startWorld();
  const first = [await world.ready(STAGES), await world.ready(STAGES)];
  failing.add("m7");
  const all = [...(await publish(CALLS, { users: USERS }))];
  const others = all.filter((id) => userOf(id) !== 2 || Number(id.slice(1)) < 7);
  for (const path of PATHS) {
    await expect.poll(() => acceptedAt(path).toSorted()).toEqual(others.toSorted());
  }
  await expect.poll(() => atFirst.toSorted()).toEqual([...others, "m7"].toSorted());
  await Promise.all(first.map((program) => program.kill()));
  all.push(...(await publish(CALLS, { users: USERS })));
  const second = await world.ready(STAGES);
  failing.delete("m7");
  failing.add("m52");
  const rest = all.filter((id) => userOf(id) !== 2 || Number(id.slice(1)) < 52);
  for (const path of PATHS) {
    await expect.poll(() => acceptedAt(path).toSorted()).toEqual(rest.toSorted());
    expectOrder(acceptedAt(path));
  }
  reload("loose");
  second.child.kill("SIGHUP");
  for (const path of PATHS) {
    await expect.poll(() => acceptedAt(path).length).toBe(all.length - 1);
    expectOrder(acceptedAt(path));
  }
  failing.delete("m52");
  for (const path of PATHS) {
    await expect.poll(() => acceptedAt(path).length).toBe(all.length);
  }
});
