/**
 * While the program runs, two permissions are revoked and granted again: to write to the topic of one destination, and
 * to read in the group of another one. The program reports both, and no call is lost.
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { Grant } from "../../src/domain/permissions.ts";
import { chooseJava } from "../../tools/kafka/choose.ts";
import { PASSWORD, startGuardedBroker } from "../support/servers/guarded-broker.ts";
import { type Comparison, counted, worded } from "./comparison.ts";
import { fineOf } from "./drilled-world.ts";
import { type Look, metric } from "./look.ts";
import type { DrillOptions, LoneHealthProblem } from "./problem.ts";
import type { Product } from "./product.ts";
import { exactly, lone, own } from "./program-problems.ts";

const NAME = "permission-lost";
const SUMMARY = "the permissions to write one topic and to read in another group are revoked";
const USER = "drilled";
/** The destination whose topic cannot be written. */
const UNWRITTEN = "unwritten" as DestinationId;
/** The destination in whose group the program cannot read. */
const UNREAD = "unread" as DestinationId;
const LIMIT_MS = 60_000;
/** The time limit from a call's acknowledgment to its delivery, including a reroute. */
const ARRIVAL_MS = 5_000;

export const PERMISSION_LOST: LoneHealthProblem = {
  kind: "alone",
  name: NAME,
  summary: SUMMARY,
  run: async (options) => {
    const java = await chooseJava(new AbortController().signal, options.say).catch(() => null);
    if (java !== null) return await drillPermissions(options, java);
    options.say("skipped: it needs Java");
    return [];
  },
};

async function drillPermissions(
  options: DrillOptions,
  java: Awaited<ReturnType<typeof chooseJava>>,
) {
  const broker = await startGuardedBroker(java, [USER]);
  try {
    await broker.grant(USER, ALL);
    const sasl = { mechanism: "plain", username: USER, password: PASSWORD };
    const { run } = lone(NAME, SUMMARY, {
      product: {
        destinations: [{ id: UNWRITTEN }, { id: UNREAD }],
        kafka: { brokers: [broker.guardedAddress], sasl },
      },
      limitMs: LIMIT_MS,
      make: (product) => broker.forbid(USER, lost(product)),
      said: (look) => [
        ...fineOf(look, { problem: NAME, isAlways: true }),
        own(NAME, [...whileLost(look)]),
      ],
      mend: (product) => broker.permit(USER, lost(product)),
      mended: (look) => [own(NAME, [...afterwards(look)])],
    });
    return await run({ ...options, brokers: [broker.openAddress] });
  } finally {
    await broker.stop();
  }
}

/** All permissions, for any prefix of the product. */
const ALL: readonly Grant[] = [
  {
    ...{ on: "topic", names: ["drill"], pattern: "prefixed" },
    operations: ["Read", "Write", "Describe", "Create", "DescribeConfigs", "AlterConfigs"],
  },
  { on: "group", names: ["drill"], pattern: "prefixed", operations: ["Read"] },
];

function lost({ topics, groups }: Product): readonly [Grant, Grant] {
  return [
    {
      ...{ on: "topic", names: [topics.deliveries(UNWRITTEN)], pattern: "literal" },
      operations: ["Write"],
    },
    {
      ...{ on: "group", names: [groups.deliver(UNREAD)], pattern: "literal" },
      operations: ["Read"],
    },
  ];
}

/** The start of each sentence about the permissions. */
function sentences({ truth }: Look): readonly string[] {
  return lost(truth.product).map(
    ({ on, names, operations }) =>
      `the permission ${operations.join()} on the ${on} ${names.join()} is missing for User:${USER}`,
  );
}

function whileLost(look: Look): readonly Comparison[] {
  const { ready, lines, status, truth } = look;
  const [write = "", read = ""] = sentences(look);
  const named = (healthProblems: readonly string[] = [], sentence: string) =>
    healthProblems.some((problem) => problem.includes(sentence)) ? "named" : "silent";
  const logged = (msg: string) =>
    lines.filter((line) => line.msg === msg).map((line) => `${line.error}`);
  const topic = truth.product.topics.deliveries(UNWRITTEN);
  const isBlocked = status.report?.unwritableTopics.some((each) => each.topic === topic) ?? false;
  return [
    worded("readyz: to write the topic", named(ready?.healthProblems, write), ["named"]),
    worded("readyz: to read in the group", named(ready?.healthProblems, read), ["named"]),
    worded("readyz: its status", `${ready?.status}`, ["200"]),
    worded("log: to write the topic", named(logged("kafka.produce.permission-missing"), write), [
      "named",
    ]),
    worded("log: to read in the group", named(logged("destination.consumer-restarting"), read), [
      "named",
    ]),
    worded("log: missing topics", logged("kafka.produce.topic-missing").join() || "none", ["none"]),
    worded("status: the topic", isBlocked ? "takes nothing" : "silent", ["takes nothing"]),
    counted("metrics: consumers with unknown lag", metric(look, METRICS.lagUnknown), exactly(1)),
  ];
}

function afterwards(look: Look): readonly Comparison[] {
  const { ready, status } = look;
  const all = sentences(look);
  const isNamed = ready?.healthProblems.some((problem) =>
    all.some((each) => problem.includes(each)),
  );
  return [
    worded("readyz: the permissions", isNamed === false ? "silent" : "named", ["silent"]),
    counted("status: blocked topics", status.report?.unwritableTopics.length ?? null, exactly(0)),
    counted("metrics: consumers with unknown lag", metric(look, METRICS.lagUnknown), exactly(0)),
    ...[UNWRITTEN, UNREAD].map((id) =>
      counted(`calls that did not come to ${id}`, missed(look, id), exactly(0)),
    ),
  ];
}

function missed({ truth, fromMs }: Look, id: DestinationId): number {
  const { accepted } = truth.product.receiver(id);
  const written = truth.sent.between(0, fromMs - ARRIVAL_MS);
  return written.filter(({ id }) => !accepted.has(id)).length;
}
