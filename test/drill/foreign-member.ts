/**
 * Another program repeatedly joins and leaves the group of the route stage. It gets no calls, the program reports it,
 * and no call is lost.
 */

import { setTimeout as timer } from "node:timers/promises";
import { Kafka } from "kafkajs";
import { METRICS } from "../../src/base/telemetry/metrics.ts";
import { type Comparison, counted, worded } from "./comparison.ts";
import { fineOf } from "./drilled-world.ts";
import { type Look, metric } from "./look.ts";
import { type Product, WELL } from "./product.ts";
import { exactly, lone, own } from "./program-problems.ts";

const NAME = "foreign-member";
const CLIENT_ID = "a-script";
const STAYS_MS = 3_000;
const ABSENT_MS = 2_000;
/** The time limit for a call to arrive while the group rebalances repeatedly. */
const ARRIVAL_MS = 15_000;
const MANY = 1_000_000;

const churning = new AbortController();
let churn: Promise<void> = Promise.resolve();
/** Number of records that the other program got. */
let taken = 0;

export const FOREIGN_MEMBER = lone(NAME, "another program joins and leaves a group all the time", {
  limitMs: 60_000,
  make: (product) => {
    churn = joinAndLeave(product, churning.signal);
    return Promise.resolve();
  },
  said: (look) => [
    ...fineOf(look, { problem: NAME, isAlways: false }),
    own(NAME, [
      ...whatever(look),
      counted("metrics: other programs", foreign(look, "route"), exactly(1)),
      worded("readyz: the other program", inReadyz(look), ["named"]),
      worded("log: the other program", inLog(look), ["named"]),
      counted("metrics: rebalances", metric(look, METRICS.rebalances, { stage: "route" }), {
        from: 5,
        to: MANY,
      }),
    ]),
  ],
  mend: async () => {
    churning.abort();
    await churn;
  },
  mended: (look) => [own(NAME, whatever(look))],
});

/** Does what a script of a user might do: uses kafkajs with its own assigner, which is also ours. */
async function joinAndLeave({ kafka: { brokers }, groups, topics }: Product, signal: AbortSignal) {
  const kafka = new Kafka({ brokers: [...brokers], clientId: CLIENT_ID, logLevel: 0 });
  while (!signal.aborted) {
    const consumer = kafka.consumer({ groupId: groups.route });
    await consumer.connect();
    await consumer.subscribe({ topics: [topics.calls] });
    await consumer.run({
      eachMessage: async () => {
        taken += 1;
      },
    });
    await timer(STAYS_MS, undefined, { signal }).catch(() => undefined);
    await consumer.disconnect();
    await timer(ABSENT_MS, undefined, { signal }).catch(() => undefined);
  }
}

function whatever(look: Look): readonly Comparison[] {
  return [
    counted("calls that the other program was given", taken, exactly(0)),
    counted("calls that did not come", missed(look), exactly(0)),
    counted("metrics: other programs elsewhere", foreign(look, "deliver"), exactly(0)),
    worded("readyz: its status", `${look.ready?.status}`, ["200"]),
  ];
}

function foreign(look: Look, stage: string): number {
  return metric(look, METRICS.foreignMembers, { stage }) ?? 0;
}

function inReadyz({ ready }: Look): string {
  const healthProblems = ready?.parts.route ?? [];
  return healthProblems.some((problem) => problem.includes(CLIENT_ID)) ? "named" : "silent";
}

function inLog({ lines, truth }: Look): string {
  const line = lines.find(({ msg }) => msg === "kafka.group.foreign-members");
  const isOf = line?.group === truth.product.groups.route;
  return isOf && `${line?.clients}` === CLIENT_ID ? "named" : "silent";
}

function missed({ truth, fromMs }: Look): number {
  const { accepted } = truth.product.receiver(WELL);
  const written = truth.sent.between(0, fromMs - ARRIVAL_MS);
  return written.filter(({ id }) => !accepted.has(id)).length;
}
