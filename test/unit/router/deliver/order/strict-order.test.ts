// A destination whose order is strict, on a Kafka in memory.

import { expect, test } from "vitest";
import { deadLetterRules } from "../../../../../src/operator/replay/dead-letter-replay.ts";
import { readMarks } from "../../../../../src/operator/replay/read-dead-letters.ts";
import { sendReplay } from "../../../../../src/operator/replay/replay.ts";
import {
  type DeadLetterReplayPlan,
  rangesOf,
} from "../../../../../src/operator/replay/replay-store.ts";
import { openReplay } from "../../../../../src/operator/replay/run-replay.ts";
import type { WebhookDestination } from "../../../../../src/router/destinations/webhook/settings.ts";
import { PLACE_HEADER } from "../../../../../src/router/order/facts.ts";
import { lift, suppress, suppressing } from "../../../../support/build/suppressions.ts";
import { webhookDestination } from "../../../../support/build/webhook-destination.ts";
import {
  CRM,
  DeliverWorld,
  HOUR_MS,
  idOf,
  topics,
  type WorldOptions,
} from "../../../../support/worlds/deliver-world.ts";
import { newReplay } from "../../../../support/worlds/replay-world.ts";
import type { ScriptedResponse, Sent } from "../../../../support/worlds/scripted-http.ts";

type Respond = (sent: Sent) => ScriptedResponse;

function strictWorld(
  respond: Respond,
  own: Parameters<typeof webhookDestination>[0] = {},
  given: Partial<WorldOptions> = {},
) {
  const crm = webhookDestination({
    urls: ["http://crm.test/"],
    messageIdHeader: true,
    order: "strict",
    ...own,
  });
  return new DeliverWorld({ destinations: [crm], respond, ...given });
}

test("while a delivery awaits retry, later ones of its user wait, and those of others go on", async () => {
  const world = strictWorld(failing({ m0: 1 }));
  await world.run();
  world.calls(1, { user: () => "a" });
  await world.settle(1_000);
  world.calls(2, { user: () => "a" });
  world.calls(1, { user: () => "b" });
  await world.settle(5_000);
  expect(world.sent("crm.test")).toEqual(["m0", "m3"]);
  await world.settle(HOUR_MS);
  expect(world.sent("crm.test")).toEqual(["m0", "m3", "m0", "m1", "m2"]);
});

const a = () => "a";

/** Responds in this way to the deliveries with these IDs, as often as it says. */
function failing(times: Readonly<Record<string, number>>, status: ScriptedResponse = 503): Respond {
  const left = new Map(Object.entries(times));
  return (sent) => {
    const more = left.get(idOf(sent)) ?? 0;
    left.set(idOf(sent), more - 1);
    return more > 0 ? status : 200;
  };
}

test("the next one may fail as well, and then waits as the first one did", async () => {
  const world = strictWorld(failing({ m0: 2, m1: 2 }));
  await world.run();
  world.calls(3, { user: a });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m0", "m0", "m1", "m1", "m1", "m2"]);
});

test("a dead letter lets the next one follow", async () => {
  const world = strictWorld(failing({ m0: 1 }, 400));
  await world.run();
  world.calls(3, { user: a });
  await world.settle(5_000);
  expect(world.sent()).toEqual(["m0", "m1", "m2"]);
  expect(world.deadLetters()).toHaveLength(1);
});

test("so does one whose retries have ended", async () => {
  const world = strictWorld(failing({ m0: 1_000 }));
  await world.run();
  world.calls(2, { user: a });
  await world.settle(5 * HOUR_MS);
  expect(world.sent().slice(-2)).toEqual(["m0", "m1"]);
  expect(world.deadLetters()).toHaveLength(1);
});

test("with onDeadLetter: hold, the user's later deliveries wait", async () => {
  const world = strictWorld(failing({ m0: 1 }, 400), { onDeadLetter: "hold" });
  await world.run();
  world.calls(3, { user: a });
  world.calls(1, { user: () => "b" });
  await world.settle(5 * HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m3"]);
  expect(world.deadLetters()).toEqual([
    expect.objectContaining({ "switchyard-queue-place": expect.stringMatching(/:0\/0$/) }),
  ]);
});

async function heldWorld(
  respond = failing({ m0: 1 }, 400),
  changed: Partial<Pick<WebhookDestination, "order" | "onDeadLetter">> | null = null,
) {
  const suppressions = suppressing();
  const world = strictWorld(respond, { onDeadLetter: "hold" }, { suppressions });
  world.cluster.createTopic(topics.deadLetterReplays, 1);
  const { deliver } = await world.run();
  world.calls(3, { user: a });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0"]);
  const [crm] = world.destinations;
  if (crm !== undefined && changed !== null) await world.reload(deliver, [{ ...crm, ...changed }]);
  const work = async (plan: Partial<DeadLetterReplayPlan>) => {
    const { kafka, clock, destinations } = world;
    const signal = new AbortController().signal;
    const cluster = { kafka, topics, hasLedger: false, signal, clock };
    const replay = await openReplay(cluster, "dead-letters", newReplay(plan));
    if (replay === null) throw new Error("a new replay always exists");
    const marks = await readMarks({ kafka, topics, signal }, rangesOf(replay.stored));
    const rules = deadLetterRules(replay, { topics, destinations, marks, suppressions });
    let written = 0;
    await sendReplay(replay, rules, kafka.producer(), {
      onProgress: ({ own }) => {
        written = own.written ?? 0;
      },
      onWaiting: () => undefined,
      onRefused: (why) => {
        throw new Error(why);
      },
    });
    return written;
  };
  /** Returns how many records were written. */
  const sendAgain = async (plan: Partial<DeadLetterReplayPlan> = {}) => {
    const sending = work(plan);
    await world.settle(HOUR_MS);
    return await sending;
  };
  return { world, sendAgain, suppressions };
}

test("a replay of the dead letter that holds a user is attempted first, and the next ones follow", async () => {
  const { world, sendAgain } = await heldWorld();
  expect(await sendAgain()).toBe(1);
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2"]);
});

test("a second replay of the same dead letter is sent like any other, because nobody waits for it", async () => {
  const { world, sendAgain } = await heldWorld();
  await sendAgain();
  expect(await sendAgain({ includeReplayed: true })).toBe(1);
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2", "m0"]);
});

test("if that one fails, it is retried, and not taken for a repeat", async () => {
  // The first attempt is rejected, the first replay is accepted, and the second one fails once.
  const statuses = [400, 200, 503];
  const { world, sendAgain } = await heldWorld((sent) =>
    idOf(sent) === "m0" ? (statuses.shift() ?? 200) : 200,
  );
  await sendAgain();
  expect(await sendAgain({ includeReplayed: true })).toBe(1);
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2", "m0", "m0"]);
});

test("whenever facts are acknowledged late, each delivery ends, in order", async () => {
  const respond = failing({ m0: 1 });
  const world = strictWorld((sent) =>
    respond(sent) === 200 ? { status: 200, afterMs: 1_000 } : 503,
  );
  await world.run();
  world.cluster.delayWrites(3_000);
  for (let times = 0; times < 80; times += 1) {
    world.calls(1, { user: a });
    await world.settle(1_300);
  }
  await world.settle(HOUR_MS);
  const ids = Array.from({ length: 80 }, (_, at) => `m${at}`);
  expect([...new Set(world.sent())]).toEqual(ids);
  const asked = world.kafka.admin.committed("sw.deliver.crm", topics.deliveries(CRM));
  await world.settle(1_000);
  expect(await asked).toEqual([expect.objectContaining({ offset: 80 })]);
});

test("a replay that is rejected again leaves the user blocked, until a replay of the new dead letter", async () => {
  const { world, sendAgain } = await heldWorld(failing({ m0: 2 }, 400));
  await sendAgain();
  expect(world.sent()).toEqual(["m0", "m0"]);
  expect(await sendAgain()).toBe(1);
  expect(world.sent()).toEqual(["m0", "m0", "m0", "m1", "m2"]);
});

test("the replay also frees the user if dead letters do not hold users any more", async () => {
  const { world, sendAgain } = await heldWorld(failing({ m0: 1 }, 400), {
    onDeadLetter: "continue",
  });
  await sendAgain();
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2"]);
});

test("so it does if the destination is loose now", async () => {
  const { world, sendAgain } = await heldWorld(failing({ m0: 1 }, 400), {
    order: "loose",
    onDeadLetter: "continue",
  });
  await sendAgain();
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2"]);
});

test("a cancellation of the dead letter lets the next ones follow without sending it", async () => {
  const { world, sendAgain } = await heldWorld();
  expect(await sendAgain({ cancels: true })).toBe(1);
  expect(world.sent()).toEqual(["m0", "m1", "m2"]);
  expect(await sendAgain()).toBe(0);
  expect(await sendAgain({ cancels: true })).toBe(0);
  expect(await sendAgain({ includeReplayed: true })).toBe(1);
  expect(world.sent()).toEqual(["m0", "m1", "m2", "m0"]);
});

test("a replay of the dead letter of a suppressed user ends it without a request, and those that wait", async () => {
  const { world, sendAgain, suppressions } = await heldWorld();
  suppress(suppressions, "u");
  expect(await sendAgain()).toBe(1);
  expect(world.sent()).toEqual(["m0"]);
  expect(world.deadLetters()).toHaveLength(1);
  expect(await metricsOf(world)).toEqual(
    expect.arrayContaining([
      'switchyard_order_blocked_users{destination="crm"} 0',
      'switchyard_suppressed_total{stage="deliver",destination="crm"} 3',
    ]),
  );
  lift(suppressions, "u");
  world.calls(1, { user: a });
  await world.settle(1_000);
  expect(world.sent()).toEqual(["m0", "m3"]);
  expect([await sendAgain(), await sendAgain({ includeReplayed: true })]).toEqual([0, 1]);
  expect(world.sent()).toEqual(["m0", "m3", "m0"]);
});

test.each([
  [false, ["expired", "expired"], 0],
  [true, [], 2],
])(
  "what has waited for 84 h expires, unless its user is suppressed: %j",
  async (is, reasons, suppressed) => {
    const { world, suppressions } = await heldWorld();
    if (is) suppress(suppressions, "u");
    await world.settle(85 * HOUR_MS);
    expect(world.sent()).toEqual(["m0"]);
    const [, ...later] = world.deadLetters();
    expect(later.map((headers) => headers["switchyard-reason"])).toEqual(reasons);
    const total = `switchyard_suppressed_total{stage="deliver",destination="crm"} ${suppressed}`;
    expect((await metricsOf(world)).includes(total)).toBe(is);
  },
);

async function metricsOf(world: DeliverWorld): Promise<readonly string[]> {
  return (await world.metrics.text()).split("\n");
}

test("deliveries that were canceled can be replayed, because they hold nobody", async () => {
  const world = strictWorld(failing({ m0: 1 }), { onDeadLetter: "hold" });
  await world.control();
  await world.run();
  world.calls(2, { user: a });
  await world.settle(1_000);
  await world.cancel();
  await world.settle(HOUR_MS);
  expect(world.deadLetters()).toHaveLength(2);
  for (const headers of world.deadLetters()) expect(headers).not.toHaveProperty(PLACE_HEADER);
});

test("what waits is known to the next owner, and its order is kept", async () => {
  const world = strictWorld(failing({ m0: 1 }));
  const { deliver, delay } = await world.run();
  world.calls(4, { user: a });
  await world.settle(1_000);
  await world.stop(deliver);
  await world.stop(delay);
  expect(world.sent()).toEqual(["m0"]);
  await world.run();
  world.calls(1, { user: a });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2", "m3", "m4"]);
});

test("a destination that is loose now attempts what waits, in order, and later deliveries at once", async () => {
  const world = strictWorld(failing({ m0: 3, m1: 1 }));
  const { deliver } = await world.run();
  world.calls(4, { user: a });
  await world.settle(1_000);
  const [crm] = world.destinations;
  if (crm === undefined) return;
  await world.reload(deliver, [{ ...crm, order: "loose" }]);
  world.calls(1, { user: () => "b" });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2", "m3", "m4", "m1", "m0", "m0"]);
});

test("a destination that is strict now keeps the order from then on", async () => {
  const world = strictWorld(failing({ m0: 1, m2: 1 }), { order: "loose" });
  const { deliver } = await world.run();
  world.calls(2, { user: a });
  await world.settle(1_000);
  const [crm] = world.destinations;
  if (crm === undefined) return;
  const strict = { ...crm, order: "strict" } as const;
  world.cluster.createTopic("sw.order.crm", 1);
  await world.reload(deliver, [strict]);
  world.calls(2, { user: a });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m1", "m0", "m2", "m2", "m3"]);
});

test("when a proxy works again, one of several users' deliveries is its probe, and the others follow", async () => {
  const world = strictWorld(({ atMs }) => (atMs < upAtMs ? { proxy: "p:1" } : 200));
  const upAtMs = world.clock.nowMs() + 5_000;
  await world.run();
  world.calls(3, { user: (call) => `u${call}` });
  await world.settle(HOUR_MS);
  expect(world.failures).toEqual([]);
  expect(new Set(world.sent().slice(-3))).toEqual(new Set(["m0", "m1", "m2"]));
});

test("deliveries without a key have no order", async () => {
  const world = strictWorld(failing({ m0: 1 }));
  await world.run();
  world.append({ messageId: "m0" as never }, { key: null });
  world.append({ messageId: "m1" as never }, { key: null });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m1", "m0"]);
});

test("canceled deliveries that wait become dead letters, and the next one follows", async () => {
  const world = strictWorld(failing({ m0: 1 }));
  await world.control();
  await world.run();
  world.calls(3, { user: a });
  await world.settle(1_000);
  await world.cancel();
  world.calls(1, { user: a });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m3"]);
  expect(world.deadLetters()).toHaveLength(3);
});

test("a user with a thousand deliveries that wait does not stop others", async () => {
  const world = strictWorld(failing({ m0: 1 }));
  await world.run();
  world.calls(1_000, { user: a });
  world.calls(1, { user: () => "b" });
  await world.settle(9_000);
  expect(world.sent()).toEqual(["m0", "m1000"]);
  await world.settle(HOUR_MS);
  const ordered = Array.from({ length: 1_000 }, (_, at) => `m${at}`);
  expect(world.sent()).toEqual(["m0", "m1000", ...ordered]);
});

test("the destination is on hold while as many users are blocked as are allowed", async () => {
  const world = strictWorld(failing({ m0: 1, m1: 1 }), {}, { blockedMax: 2 });
  const { deliver } = await world.run();
  world.calls(4, { user: (call) => `${call % 2}` });
  await world.settle(1_000);
  world.calls(1, { user: () => "c" });
  const sinceMs = world.clock.nowMs();
  const [status] = deliver.destinations?.() ?? [];
  await world.settle(1_000);
  expect(world.sent()).toEqual(["m0", "m1"]);
  const since = new Date(sinceMs).toISOString();
  expect(deliver.destinations?.()).toEqual([
    expect.objectContaining({ state: "on-hold", hold: { reason: "order", since, until: null } }),
  ]);
  expect(status?.order).toEqual({ blockedUsers: 2, waitingDeliveries: 2 });
  expect(deliver.healthProblems()).toContainEqual(
    "destination crm: as many users or deliveries of a partition wait as are allowed (2 and 1,000,000), so no more are read",
  );
  const metrics = async () => (await world.metrics.text()).split("\n");
  expect(await metrics()).toEqual(
    expect.arrayContaining([
      'switchyard_destination_on_hold{destination="crm",reason="order"} 1',
      'switchyard_order_blocked_users{destination="crm"} 2',
      'switchyard_order_waiting_deliveries{destination="crm"} 2',
    ]),
  );
  await world.settle(HOUR_MS);
  expect(world.sent().toSorted()).toEqual(["m0", "m0", "m1", "m1", "m2", "m3", "m4"]);
  const [after] = deliver.destinations?.() ?? [];
  expect(after).toMatchObject({ hold: null, order: { blockedUsers: 0, waitingDeliveries: 0 } });
  expect(await metrics()).toContain('switchyard_order_blocked_users{destination="crm"} 0');
});

test("users who stay blocked do not stop a destination that is loose now", async () => {
  const own = { onDeadLetter: "hold" } as const;
  const world = strictWorld(failing({ m0: 1 }, 400), own, { blockedMax: 1 });
  const { deliver } = await world.run();
  world.calls(1, { user: a });
  await world.settle(1_000);
  world.calls(1, { user: () => "b" });
  await world.settle(1_000);
  expect(world.sent()).toEqual(["m0"]);
  const [crm] = world.destinations;
  if (crm === undefined) return;
  await world.reload(deliver, [{ ...crm, order: "loose", onDeadLetter: "continue" }]);
  await world.settle(1_000);
  expect(world.sent()).toEqual(["m0", "m1"]);
});

test("a loose destination has no counts of blocked users", async () => {
  const world = strictWorld(failing({}), { order: "loose" });
  const { deliver } = await world.run();
  expect(deliver.destinations?.()[0]).not.toHaveProperty("order");
  expect(await world.metrics.text()).not.toContain("switchyard_order_blocked_users{");
});

test("what is known of a queue does not apply to a new queue with the same name", async () => {
  const world = strictWorld(failing({ m0: 1 }));
  const { deliver, delay } = await world.run();
  world.calls(3, { user: a });
  await world.settle(HOUR_MS);
  await world.stop(deliver);
  await world.stop(delay);
  const deleted = world.kafka.admin.deleteTopics(["sw.deliveries.crm"]);
  await world.settle(1_000);
  await deleted;
  world.cluster.createTopic("sw.deliveries.crm", 1);
  world.calls(3, { user: a });
  await world.run();
  expect(world.sent()).toEqual(["m0", "m0", "m1", "m2", "m3", "m4", "m5"]);
});

test("whenever a process is killed, each delivery ends, in order", async () => {
  for (let killedAfterMs = 0; killedAfterMs <= 6_000; killedAfterMs += 450) {
    const world = strictWorld(failing({ m0: 1 }), {});
    await world.run();
    world.calls(3, { user: a });
    await world.settle(killedAfterMs < 3_000 ? killedAfterMs : 7_000 + killedAfterMs);
    world.kafka.kill();
    await world.settle(60_000);
    world.kafka = world.cluster.connect();
    await world.run();
    world.calls(1, { user: a });
    await world.settle(HOUR_MS);
    const first = [...new Set(world.sent())];
    expect(first, `killed after ${killedAfterMs} ms`).toEqual(["m0", "m1", "m2", "m3"]);
  }
});

test("the deliveries of a user who is suppressed end one after the other, and not inside each other", async () => {
  const suppressions = suppressing();
  const depths: number[] = [];
  const matches = suppressions.matches.bind(suppressions);
  Object.assign(suppressions, {
    matches: (call: Parameters<typeof matches>[0]) => {
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = Number.POSITIVE_INFINITY;
      depths.push(new Error().stack?.split("\n").length ?? 0);
      Error.stackTraceLimit = stackTraceLimit;
      return matches(call);
    },
  });
  const respond = () => ({ status: 200, afterMs: 5_000 });
  const destinations = [webhookDestination({ urls: ["http://crm.test/"], order: "strict" })];
  const world = new DeliverWorld({ destinations, respond, suppressions });
  await world.run();
  world.calls(100, { user: () => "a" });
  await world.settle(1_000);
  suppress(suppressions, "u");
  await world.settle(60_000);
  expect(world.sent()).toHaveLength(1);
  expect(depths.length).toBeGreaterThan(90);
  expect(Math.max(...depths) - Math.min(...depths)).toBeLessThan(90);
});
