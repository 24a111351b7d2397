/**
 * Attacks on the output of the product. Its configuration has secrets in unusual settings, and data that its commands
 * print contains control characters for a terminal.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { until } from "./producers.ts";
import { type Product, read, SECRET } from "./product.ts";

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");
const KEY = readFileSync(join(import.meta.dirname, "../golden/tls/key.pem"), "utf8");
/** Every part of the key that could be quoted. */
const KEY_PIECES = KEY.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
const CONTROL = /(?!\n)[\p{Cc}\p{Bidi_Control}]/u;
const NASTY = "x\u001b[2J\u009b2J\u007f\u202e";
const STOP_LIMIT_S = 30;
const BRIEF_CONFIGURATIONS = 3;

/** Configurations, invalid or valid, with a secret where none is expected. */
const CONFIGURATIONS: Readonly<Record<string, string>> = {
  "a password in kafka.brokers": `kafka: { brokers: "sasl://u:${SECRET},a@kafka:9092" }`,
  "a password in a list of brokers": `kafka: { brokers: [k:1, "u:${SECRET}:kafka:9092"] }`,
  "a PEM text where a path belongs": `kafka: { brokers: [k:1], tls: { key: ${JSON.stringify(KEY)} } }`,
  "a PEM text in one line": `delivery: { ca: ${JSON.stringify(KEY.replaceAll("\n", " "))} }`,
  "a URL with a password, no scheme": endpoint(`u:${SECRET}@a.example.com/x`),
  "a URL with a password with a slash": endpoint(`https://u:1/${SECRET}@a.example.com/`),
  "a URL with a secret path, twice": endpoint(`https://a.example.com/${SECRET}`, 2),
  "a URL that is right, with a secret path": good(endpoint(`https://a.example.com/${SECRET}`)),
  "a query without =": good(endpoint(`https://a.example.com/?${SECRET}`)),
  "a short shared secret": good(endpoint("https://a.example.com/", 1, `sharedSecret: ${SECRET}`)),
  "a secret with the wrong type": endpoint(
    "https://a.example.com/",
    1,
    `sharedSecret: [${SECRET}]`,
  ),
  "YAML that breaks at a secret": `a: "${SECRET}\nb: [`,
};

function endpoint(url: string, times = 1, more = "enabled: true"): string {
  const one = `{ url: ${JSON.stringify(url)} }`;
  const list = Array.from({ length: times }, () => one).join(", ");
  return `destinations: [{ id: hook, type: webhook, ${more}, endpoints: [${list}] }]`;
}

function good(source: string): string {
  return `kafka: { brokers: [kafka-1:9092] }\n${source}\nsources: [{ id: web, destinations: [hook] }]`;
}

export async function secretAttacks(
  product: Product,
  { isBrief }: AttackOptions,
): Promise<AttackRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-attack-secrets-"));
  try {
    const rows: AttackRow[] = [];
    const all = Object.entries(CONFIGURATIONS);
    for (const [name, source] of isBrief ? all.slice(0, BRIEF_CONFIGURATIONS) : all) {
      const file = join(folder, "switchyard.yaml");
      writeFileSync(file, source);
      rows.push(await printsNoSecret(name, file));
    }
    rows.push(await runsInSilence(product), ...(await tameTerminal(product)));
    return rows;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function printsNoSecret(name: string, file: string): Promise<AttackRow> {
  const runs = [
    await switchyard(["config", "check", "-c", file]),
    await switchyard(["config", "print", "-c", file]),
  ];
  const printed = runs.map(({ out }) => out).join("");
  const seen = `${printed.length} characters printed, ${leaksIn(printed)}`;
  const ok = !isLeaking(printed) && runs.every(({ status }) => status === 0 || status === 2);
  return { name: `config check and print: ${name}`, expected: "no secret", seen, ok };
}

/** Checks failing endpoints, rejected calls, and every page of the admin port. */
async function runsInSilence(product: Product): Promise<AttackRow> {
  const { adminUrl, configFile, printed, write } = product;
  const call = { type: "track", userId: "u", event: "e" };
  const values = [call, { ...call, writeKey: `${SECRET}-wrong` }];
  await write(
    "calls",
    values.map((value) => ({ key: "silent", value })),
  );
  const hasFailed = await until(() => /"cause".*delivery\.attempted/.test(printed()));
  const pages = ["metrics", "readyz", "livez"].map((page) => read(`${adminUrl}/${page}`));
  const commands = [
    switchyard(["status", "-c", configFile, "--admin", adminUrl.slice("http://".length)]),
    switchyard(["dead-letters", "list", "-c", configFile]),
    switchyard(["config", "print", "-c", configFile]),
  ];
  const all = [printed(), ...(await Promise.all(pages))];
  for (const { out } of await Promise.all(commands)) all.push(out);
  const text = all.join("\n");
  return {
    name: "logs at level debug, metrics, readiness, status, dead letters",
    expected: "no secret; failed attempts are logged",
    seen: `${text.length} characters, ${leaksIn(text)}, failed attempts ${hasFailed ? "" : "not "}logged`,
    ok: hasFailed && !isLeaking(text),
  };
}

/** Passes data with control characters through the commands that print it. */
async function tameTerminal({ configFile, write, printed }: Product): Promise<AttackRow[]> {
  const call = { type: "track", userId: NASTY, event: NASTY, messageId: NASTY };
  const line = JSON.stringify(call);
  const deadLetter = { ...call, type: NASTY };
  const names = ["reason", "stage", "error", "destination", "message-id", "topic"];
  const headers = names.map((name) => [`switchyard-${name}`, Buffer.from(NASTY)] as const);
  await write("dead-letters", [{ key: NASTY, value: Buffer.from("x"), headers }]);
  await write("calls", [{ value: call }]);
  const hasLogged = await until(() => printed().includes("\\u009b"));
  const own = ["-c", configFile];
  const lists = ["dead-letters", "list", ...own];
  const runs: readonly (readonly [args: readonly string[], input: string])[] = [
    [["explain", ...own], `${line}\n${JSON.stringify(deadLetter)}\n`],
    [["publish", ...own], `${JSON.stringify(deadLetter)}\n{"${NASTY}\n`],
    [lists, ""],
    [[...lists, "--json"], ""],
    [["dead-letters", "replay", "--dry-run", ...own], ""],
    [["status", ...own], ""],
    [["config", "check", "-c", NASTY], ""],
  ];
  const rows: AttackRow[] = [];
  for (const [args, input] of runs) {
    const { out } = await switchyard(args, input);
    const name = args.filter((arg) => arg !== configFile).join(" ");
    rows.push(terminalRow(name, out, out.length > 0));
  }
  rows.push(terminalRow("the log", printed(), hasLogged));
  return rows;
}

function terminalRow(name: string, out: string, isThere: boolean): AttackRow {
  const found = CONTROL.exec(out)?.[0].charCodeAt(0).toString(16);
  const seen = found === undefined ? "none" : `0x${found}`;
  return {
    name: `control characters of data: ${name}`,
    expected: "none reaches the terminal",
    seen: isThere ? `${seen} in ${out.length} characters` : "nothing was printed",
    ok: isThere && found === undefined,
  };
}

/** Sends SIGTERM three times, like process groups and supervisors. */
export async function stopAttacks(product: Product): Promise<AttackRow[]> {
  const startMs = performance.now();
  const status = await product.stop(3);
  const seconds = (performance.now() - startMs) / 1_000;
  return [
    {
      name: "SIGTERM three times",
      expected: `status 0 within ${STOP_LIMIT_S} s`,
      seen: `status ${status} after ${seconds.toFixed(1)} s`,
      ok: status === 0 && seconds <= STOP_LIMIT_S,
    },
  ];
}

async function switchyard(args: readonly string[], input = "") {
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const child = spawn(process.execPath, [BIN, ...args], { env });
  child.stdin.on("error", () => undefined).end(input);
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status, out: `${out}${err}` };
}

function isLeaking(printed: string): boolean {
  return [SECRET, ...KEY_PIECES].some((secret) => printed.includes(secret));
}

function leaksIn(printed: string): string {
  return isLeaking(printed) ? "A SECRET among them" : "no secret";
}
