import { expect, test } from "vitest";

import {
  allowedConfig,
  likewise,
  type TopicConfig,
} from "../../../../src/kafka/cluster/allowed-config.ts";

const SIZE = "max.message.bytes";
const KIB = 1_024;
const MIB = KIB * KIB;

type Policy = (config: TopicConfig) => string | null;

async function found(config: TopicConfig, policy: Policy, otherwiseBytes?: number) {
  const asked: TopicConfig[] = [];
  const tryConfig = async (some: TopicConfig) => {
    asked.push(some);
    return policy(some);
  };
  const reason = policy(config);
  if (reason === null) throw new Error("it is allowed");
  return {
    allowed: await allowedConfig(config, reason, tryConfig, otherwiseBytes),
    asked: asked.length,
  };
}

const atMost =
  (limits: Readonly<Record<string, number>>): Policy =>
  (config) => {
    const bad = Object.entries(limits).find(([key, most]) => Number(config[key] ?? 0) > most);
    return bad === undefined ? null : `${bad[0]} at most ${bad[1]}`;
  };

const PLANNED = { "cleanup.policy": "delete", "retention.ms": "9", [SIZE]: `${MIB + 64 * KIB}` };

test.each([
  ["Kafka's default", MIB + 12, undefined, null],
  ["more than the default", MIB + 20 * KIB + 5, undefined, `${MIB + 20 * KIB}`],
  ["less than the topic has", 500 * KIB, 600 * KIB, null],
  ["more than the topic has", 500 * KIB + 1, 1_000, `${500 * KIB}`],
])("records of %s are allowed: %#", async (_, most, otherwise, instead) => {
  const { allowed, asked } = await found(PLANNED, atMost({ [SIZE]: most }), otherwise);
  const { [SIZE]: planned, ...rest } = PLANNED;
  expect(allowed).toEqual({
    config: instead === null ? rest : { ...rest, [SIZE]: instead },
    rejected: [{ setting: SIZE, planned, instead, error: `${SIZE} at most ${most}` }],
  });
  expect(asked).toBeLessThan(14);
});

test("several settings are rejected: each has its own reason, and the others stay", async () => {
  const { allowed } = await found(PLANNED, atMost({ "retention.ms": 5, [SIZE]: MIB }));
  expect(allowed?.config).toEqual({ "cleanup.policy": "delete" });
  expect(allowed?.rejected.map(({ setting, error }) => `${setting}: ${error}`)).toEqual([
    `${SIZE}: ${SIZE} at most ${MIB}`,
    "retention.ms: retention.ms at most 5",
  ]);
});

test("a policy wants a size, and a small one: it gets the largest that it allows", async () => {
  const policy: Policy = (config) => {
    const size = config[SIZE];
    if (size === undefined) return "a size is wanted";
    return Number(size) > 300 * KIB ? "too large" : null;
  };
  const { allowed } = await found(PLANNED, policy);
  expect(allowed?.config).toEqual({ ...PLANNED, [SIZE]: `${300 * KIB}` });
});

test("nothing is allowed", async () => {
  expect((await found(PLANNED, () => "too many partitions")).allowed).toBe(null);
});

test("what was found for one topic is tried with others that plan the same or more", () => {
  const size = { setting: SIZE, planned: `${MIB + 64 * KIB}`, instead: null, error: "first" };
  const kept = { setting: "retention.ms", planned: "9", instead: null, error: "first" };
  const config = { "retention.ms": "8", [SIZE]: `${MIB + 16 * KIB}` };
  expect(likewise(config, [size, kept], "its own")).toEqual({
    config: { "retention.ms": "8" },
    rejected: [{ ...size, planned: `${MIB + 16 * KIB}`, error: "its own" }],
  });
  const small = { "retention.ms": "9", [SIZE]: `${MIB}` };
  expect(likewise(small, [size, kept], "its own").config).toEqual({ [SIZE]: `${MIB}` });
});
