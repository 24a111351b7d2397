/** A broker in Java whose messages Kafka's own classes decode and encode, and random messages for it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import type { Prng } from "../clock/prng.ts";
import { prepareJava } from "./maven-jars.ts";

/** Fields of a message. They differ in each message, and their types are in Kafka's definitions. */
export type Fields = ReturnType<typeof JSON.parse>;

/** Returns the reason if there is no such broker. @param names of messages, such as `HeartbeatRequest`. */
export async function startMessageBroker(names: readonly string[]) {
  const folder = join(import.meta.dirname, "message-broker");
  const source = { folder, main: "MessageBroker", what: "Kafka's client for Java", size: "20 MB" };
  const program = await prepareJava(source, AbortSignal.timeout(180_000));
  if (program.kind === "none") return program.why;
  const child = spawn(program.java, [...program.args, ...names]);
  child.stderr.pipe(process.stderr);
  const lines = createInterface(child.stdout);
  const first = Promise.race([once(lines, "line"), once(lines, "close")]);
  const { port, ...definitions } = JSON.parse(`${await first}`) as Fields;
  const broker = {
    port: Number(port),
    definitions,
    /** Returns the response's body, and how the response is altered (`MessageBroker.java`). */
    respond: (_request: Fields): Fields => ({}),
    stop: () => child.stdin.end(),
  };
  lines.on("line", (line) =>
    child.stdin.write(`${JSON.stringify(broker.respond(JSON.parse(line)))}\n`),
  );
  return broker;
}

/** Errors that make our code neither wait nor send the request again. */
const ERRORS = [17, 22, 25, 29, 30, 31, 87];
const CHARACTERS = ["a", "Z", "0", "-", ".", "é", "€", "😀"];

/**
 * @param given values of fields, or functions that return them; and the lengths of lists, such as `topics#`.
 * @param isResponse `true` if lists may be empty, and fields null.
 */
export function randomMessage(
  fields: Fields,
  version: number,
  random: Prng,
  given: Fields,
  isResponse: boolean,
  at = 0,
): Fields {
  const message: Fields = {};
  for (const { name: kafkaName, type, versions, nullableVersions, fields: inner } of fields) {
    if (!isIn(versions, version)) continue;
    const name: string = kafkaName.charAt(0).toLowerCase() + kafkaName.slice(1);
    const one = (_: unknown, index: number): unknown =>
      inner === undefined
        ? randomValue(name, type.replace("[]", ""), index, random)
        : randomMessage(inner, version, random, given, isResponse, index);
    const length = given[`${name}#`] ?? random.integer(isResponse ? 0 : 1, 3);
    const isNull = isResponse && isIn(nullableVersions, version) && random.chance(1 / 8);
    if (name in given)
      message[name] = given[name] instanceof Function ? given[name]() : given[name];
    else if (isNull) message[name] = null;
    else message[name] = type.startsWith("[]") ? Array.from({ length }, one) : one(0, at);
  }
  return message;
}

function randomValue(name: string, type: string, at: number, random: Prng): unknown {
  if (name === "throttleTimeMs") return 0;
  if (name === "errorCode") return random.chance(7 / 8) ? 0 : random.pick(ERRORS);
  const bits = Number(/^int(\d+)$/.exec(type)?.[1] ?? 0);
  // Different ones in a list, from 0 to 20.
  if (/^partition(Index(es)?)?$|nodes?(Id)?$|apiKey|leaderId|^index/i.test(name) && bits > 0)
    return 7 * at + random.integer(0, 6);
  const max = Math.min(2 ** (bits - 1), 2 ** 53) - 1;
  if (bits > 0)
    return random.pick([-1, 0, max, random.integer(0, max), Math.min(max, random.integer(0, 999))]);
  if (type === "bool") return random.chance(0.5);
  if (type === "string") return randomText(random);
  const bytes = Buffer.from(Array.from({ length: 16 }, () => random.integer(0, 255)));
  if (type !== "uuid") return bytes.subarray(random.integer(0, 16)).toString("base64");
  return (random.chance(1 / 8) ? Buffer.alloc(16) : bytes).toString("base64url");
}

/** A text that does not come twice. A few are long. */
export function randomText(random: Prng): string {
  const characters = Array.from({ length: random.integer(0, 9) }, () => random.pick(CHARACTERS));
  const unique = random.integer(0, 2 ** 40).toString(36);
  return `${characters.join("")}-${unique.repeat(random.chance(1 / 30) ? 40 : 1)}`;
}

/** @param versions as in Kafka's definitions: `3`, `0-4`, `5+` or `none`. */
export function isIn(versions = "none", version: number): boolean {
  const [min, max = min] = versions.replace("+", "-99").split("-").map(Number);
  return Number(min) <= version && version <= Number(max);
}
