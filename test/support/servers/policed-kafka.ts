/**
 * A separate broker that rejects some topic settings, like managed clusters. Its policy is compiled with the broker's
 * jars.
 */

import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { chooseJava, type JavaChoice } from "../../../tools/kafka/choose.ts";
import { killBroker, prepareBroker, startBroker } from "../../../tools/kafka/java.ts";
import { findOnPath } from "../../../tools/kafka/java-home.ts";

const SOURCE = join(import.meta.dirname, "size-policy", "SizePolicy.java");
const never = new AbortController().signal;

/**
 * The maximum that the broker allows, by topic prefix and key, such as `a.retention.ms`, or `a.partitions` for new
 * topics.
 */
export type Allowed = Readonly<Record<string, number>>;

export interface PolicedKafka extends AsyncDisposable {
  readonly brokers: readonly string[];
}

/** Null if the policy cannot be compiled, or if a broker cannot be started. */
export async function javaForPolicy(): Promise<JavaChoice | null> {
  if (findOnPath("javac") === null) return null;
  return await chooseJava(never, () => undefined).catch(() => null);
}

export async function startPolicedKafka(
  { java, jars }: JavaChoice,
  allowed: Allowed,
): Promise<PolicedKafka> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-policy-"));
  const classes = join(directory, "classes");
  mkdirSync(classes);
  execFileSync("javac", ["-cp", join(jars, "*"), "-d", classes, SOURCE]);
  const prepared = await prepareBroker(java, jars, directory, never);
  const limits = Object.entries(allowed).map(([key, most]) => `-Dpolicy.${key}=${most}`);
  const broker = {
    ...prepared,
    jars: `${classes}${delimiter}${jars}`,
    javaOptions: [...prepared.javaOptions, ...limits],
  };
  appendFileSync(
    join(directory, "server.properties"),
    "create.topic.policy.class.name=SizePolicy$OfNew\nalter.config.policy.class.name=SizePolicy$OfChanges\n",
  );
  const running = await startBroker(broker, "guarded", never);
  return {
    brokers: [broker.address],
    [Symbol.asyncDispose]: async () => {
      await killBroker(running);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
