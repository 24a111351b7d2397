// Who may import whom. The table is the rule; ARCHITECTURE.md explains it.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

import { STAGE_NAMES } from "../../../src/domain/stages.ts";

const SRC = join(import.meta.dirname, "../../../src");
/**
 * Folders that have become houses of their own: which rooms may import which, and the top itself.
 */
const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  kafka: {
    "": ["wire", "kafkajs", "cluster", "produce", "consume"],
    wire: [],
    kafkajs: ["wire"],
    cluster: ["kafkajs", "wire"],
    produce: ["cluster", "wire"],
    consume: ["cluster"],
  },
  cli: {
    "": [
      "acls",
      "audience",
      "config",
      "console",
      "control",
      "dead-letters",
      "explain",
      "publish",
      "replay",
      "run",
      "schemas",
      "skip-corrupt-batch",
      "status",
      "timeline",
      "topics",
    ],
    acls: [],
    audience: [],
    config: [],
    console: ["audience", "control", "dead-letters", "explain", "replay", "status", "timeline"],
    control: [],
    "dead-letters": [],
    explain: [],
    publish: [],
    replay: [],
    run: ["console"],
    schemas: [],
    "skip-corrupt-batch": [],
    status: [],
    // Its reasons are those that `explain` gives.
    timeline: ["explain"],
    topics: [],
  },
  console: { "": [], page: [] },
  registry: { "": ["avro"], avro: [] },
  telemetry: { "": ["log-lines"], "log-lines": [] },
};
/** What rooms may import from the top of their house, where that is not everything. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  kafka: ["kafka/port.ts", "kafka/membership.ts"],
  // What runs in a browser knows of the server what it is told, and nothing of how.
  console: ["console/query-view.ts", "console/action-view.ts", "console/view.ts"],
};
/** The port, and what is built on it alone. */
const PORT = ["kafka/port.ts", "kafka/uncommitted-ranges.ts"];
const STAGES: readonly string[] = STAGE_NAMES;
/** Folders of cores and shells that are no stage: what commands use. */
const LIBRARIES = ["timeline", "dead-letter", "operator-events"];
const ADAPTERS = ["http", "kafka", "registry", "runtime", "stage", "store", "telemetry", "tracing"];
/** `report.ts`: what a stage tells logs and metrics. */
const SHELL_FILES = ["stage.ts", "server.ts", "http.ts", "report.ts"];
/** Shells of libraries, and parts of shells. */
const OTHER_SHELLS = [
  "operate/timeline/read-latest.ts",
  "operate/timeline/read-timeline.ts",
  "operate/timeline/scan.ts",
  "deliver/attempts-topic.ts",
  "deliver/connect-timing.ts",
  "deliver/running-destination.ts",
  ...["delay/counting.ts", "delay/scan.ts"],
  ...["delay/topic-lookup.ts", "delay/early-release.ts", "delay/partition-loop.ts"],
  ...["delay/scan-awaiting-retry.ts", "delay/expiring-count.ts"],
  ...["operate/replay/replay.ts", "operate/replay/replay-loop.ts"],
  ...["console/action-routes.ts", "console/jobs.ts"],
  ...["console/poller.ts", "console/responses.ts"],
  ...["operate/events/webhook-sender.ts", "operate/events/watch.ts"],
  ...["ingest/respond.ts", "ingest/handle-request.ts", "ingest/unpack.ts"],
];
/** What core files may import beside `domain`: types of the port, and what is as pure as they are. */
const CORE_TYPES = ["kafka/port.ts"];
const CORE_FILES = ["stage/serial-runner.ts", "telemetry/tracing/port.ts"];
/** Pure, whatever they are given; what is impure in node:crypto is caught by the purity lint. */
const CORE_MODULES = ["ipaddr.js", "node:assert/strict", "node:buffer", "node:crypto", "node:url"];
/** Published to npm without the rest: of `domain` only types, and these files, which go with them. */
const PUBLISHED = ["client", "webhooks"];
const PUBLISHED_DOMAIN = ["domain/json.ts", "domain/timestamp.ts"];
/** Packages that one folder, or one room, hides from all others. Types count. */
const OWNERS: Readonly<Record<string, string>> = {
  "@kafkajs/confluent-schema-registry": "registry",
  "@node-rs/crc32": "kafka/wire",
  "@opentelemetry/api": "tracing",
  "@opentelemetry/exporter-trace-otlp-proto": "tracing",
  "@opentelemetry/resources": "tracing",
  "@opentelemetry/sdk-trace": "tracing",
  avsc: "registry",
  "classic-level": "store",
  commander: "cli",
  kafkajs: "kafka/kafkajs",
  "lz4-napi": "kafka/wire",
  pino: "telemetry",
  preact: "console/page",
  "prom-client": "telemetry",
  snappy: "kafka/wire",
  uplot: "console/page",
};
const NAMELESS = /[-/](?:utils?|helpers?|common|types?|manager|service|misc)\.tsx?$/;
const IMPORT =
  /^(?:import|export)\s+(type\s+)?(?:[^"=;]*?from\s+)?"([^"]+)"|\bimport\("(\.[^"]+)"\)/gm;
/** What commands load when they need it, so that `--help` is quick. */
const LAZY = ["", "cli"];

/** Folders, besides its own, that a file may import from. */
function allowed(file: string): readonly string[] {
  const folder = folderOf(file);
  if (folder === "") return ["cli"]; // main.ts
  if (folder === "domain") return [];
  if (folder === "runtime") return ["domain"];
  if (PUBLISHED.includes(folder) || folder === "config") return ["domain"];
  if (folder === "telemetry") return ["domain", "runtime"];
  if (folder === "tracing") return ["domain"];
  if (folder === "stage") return ["domain", "kafka", "registry", "runtime", "telemetry", "tracing"];
  if (["http", "kafka", "store"].includes(folder)) return ["domain", "runtime", "telemetry"];
  if (folder === "registry") return ["domain", "http", "runtime", "telemetry"];
  if (folder === "admin") return ["domain", ...ADAPTERS];
  if (folder === "cli") return ["domain", "config", "admin", ...ADAPTERS, ...STAGES, ...LIBRARIES];
  if (isPage(file)) return [];
  if (isDivided(folder)) return isShell(file) ? ["domain", ...ADAPTERS] : ["domain"];
  throw new Error(`${file}: no rule for the folder ${folder}`);
}

function lines(text: string): number {
  return text.split("\n").length - 1;
}

function folderOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
}

/** The room of a file in a house; empty for those that lie at its top. */
function roomOf(file: string): string {
  const [, room, ...rest] = file.split("/");
  return rest.length > 0 ? (room ?? "") : "";
}

/** Rooms may use what lies at the top of their house: the port, what commands share. */
function isRoomForbidden(file: string, target: string): boolean {
  const rooms = ROOMS[folderOf(file)];
  const [from, to] = [roomOf(file), roomOf(target)];
  if (rooms === undefined || from === to) return false;
  if (to === "") return !(DOORS[folderOf(file)] ?? [target]).includes(target);
  return !(rooms[from] ?? []).includes(to);
}

/** Into core and shell. */
function isDivided(folder: string): boolean {
  return STAGES.includes(folder) || LIBRARIES.includes(folder);
}

function isShell(file: string): boolean {
  if (OTHER_SHELLS.includes(file)) return true;
  if (LIBRARIES.includes(folderOf(file))) return false;
  return SHELL_FILES.some((name) => file.endsWith(`/${name}`));
}

/** Stages and what they share know Kafka by its port alone. */
function isPastThePort(folder: string, target: string): boolean {
  const knowsThePort = isDivided(folder) || folder === "stage";
  return knowsThePort && folderOf(target) === "kafka" && !PORT.includes(target);
}

/** Runs in a browser: no folder's core, and nothing of Node. */
function isPage(file: string): boolean {
  return file.startsWith("console/page/");
}

/** What may be imported although its folder may not. */
function isAllowedToCore(target: string, isTypeOnly: boolean): boolean {
  return CORE_FILES.includes(target) || (isTypeOnly && CORE_TYPES.includes(target));
}

/** The package has no other files of the rest. */
function isUnpublished(folder: string, target: string, typeOnly: string | undefined): boolean {
  return PUBLISHED.includes(folder) && typeOnly === undefined && !PUBLISHED_DOMAIN.includes(target);
}

/** `@scope/name/path` is of the package `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function violations(file: string, source: string): string[] {
  const folder = folderOf(file);
  const isDivision = isDivided(folder) && !isPage(file);
  const isCore = folder === "domain" || (isDivision && !isShell(file));
  const isLazy = LAZY.includes(folder) && !/\bimport\((?!"\.)/.test(source);
  if (/\bimport\(/.test(source) && !isLazy) return [`${file}: dynamic import`];
  const found: string[] = [];
  for (const [, typeOnly, eager, lazy] of source.matchAll(IMPORT)) {
    const specifier = eager ?? lazy ?? "";
    if (!specifier.startsWith(".")) {
      const owner = OWNERS[packageOf(specifier)];
      const isHidden = owner !== undefined && !file.startsWith(`${owner}/`);
      const isStrange = isPage(file)
        ? owner !== "console/page"
        : isCore && !CORE_MODULES.includes(specifier);
      if (isStrange || isHidden) found.push(`${file} -> ${specifier}`);
      continue;
    }
    const target = normalize(join(dirname(file), specifier));
    if (isCore && folder !== "domain" && isAllowedToCore(target, typeOnly !== undefined)) continue;
    const inside = folderOf(target) === folder;
    const isForbidden = inside
      ? (isCore && isShell(target)) || isRoomForbidden(file, target)
      : !allowed(file).includes(folderOf(target)) || isUnpublished(folder, target, typeOnly);
    if (isForbidden || isPastThePort(folder, target)) found.push(`${file} -> ${target}`);
  }
  return found;
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
  /\.tsx?$/.test(file),
);

test("every import goes in an allowed direction", () => {
  expect(files.length).toBeGreaterThan(0);
  const found = files.flatMap((file) => violations(file, readFileSync(join(SRC, file), "utf8")));
  expect(found).toEqual([]);
});

test("no arrow between rooms is allowed that nobody uses", () => {
  const used = new Set(files.flatMap((file) => arrowsOf(file)));
  const allowedArrows = Object.entries(ROOMS).flatMap(([house, rooms]) =>
    Object.entries(rooms).flatMap(([from, targets]) =>
      targets.map((to) => `${house}: ${from} -> ${to}`),
    ),
  );
  expect(allowedArrows.filter((arrow) => !used.has(arrow))).toEqual([]);
});

/** The arrows between rooms that a file of a house draws. */
function arrowsOf(file: string): string[] {
  if (!(folderOf(file) in ROOMS)) return [];
  const imports = readFileSync(join(SRC, file), "utf8").matchAll(IMPORT);
  return [...imports].flatMap(([, , eager, lazy]) => {
    const specifier = eager ?? lazy ?? "";
    if (!specifier.startsWith(".")) return [];
    const target = normalize(join(dirname(file), specifier));
    if (folderOf(target) !== folderOf(file)) return [];
    return [`${folderOf(file)}: ${roomOf(file)} -> ${roomOf(target)}`];
  });
}

test("src is one folder deep, but for houses, whose rooms the table names", () => {
  const isNamed = (file: string): boolean => {
    const rooms = ROOMS[folderOf(file)];
    const depth = file.split("/").length;
    return depth <= 2 || (depth === 3 && rooms !== undefined && roomOf(file) in rooms);
  };
  expect(files.filter((file) => !isNamed(file))).toEqual([]);
  const strange = ["kafka/attic/x.ts", "route/room/x.ts", "kafka/wire/deep/x.ts"];
  expect(strange.filter(isNamed)).toEqual([]);
});

test("every folder of src has a rule", () => {
  expect(() => allowed("elsewhere/file.ts")).toThrow("no rule for the folder elsewhere");
});

test("file names say what is inside", () => {
  expect(files.filter((file) => NAMELESS.test(file))).toEqual([]);
  expect(
    ["kafka/utils.ts", "kafka/retry-helper.ts"].filter((file) => NAMELESS.test(file)),
  ).toHaveLength(2);
});

test("no file is longer than 400 lines", () => {
  const tooLong = files.filter((file) => lines(readFileSync(join(SRC, file), "utf8")) > 400);
  expect(tooLong).toEqual([]);
  expect(lines("x\n".repeat(401))).toBe(401);
});

// The check must be able to fail: a checker that understands no import finds no violation.
test.each([
  ["domain/call.ts", 'import { x } from "../kafka/producer.ts";'],
  ["deliver/decide.ts", 'import { request } from "undici";'],
  ["deliver/decide.ts", 'import { startDeliver } from "./stage.ts";'],
  ["deliver/decide.ts", 'import { ClosedError } from "../kafka/port.ts";'],
  ["deliver/decide.ts", 'import { type Producer, ClosedError } from "../kafka/port.ts";'],
  ["deliver/decide.ts", 'import type { Brokers } from "../kafka/cluster/brokers.ts";'],
  ["deliver/decide.ts", 'import { letterWriter } from "../stage/dead-letter-writer.ts";'],
  ["domain/call.ts", 'import type { Producer } from "../kafka/port.ts";'],
  ["operate/replay/read-dead-letters.ts", 'import { ClosedError } from "../kafka/port.ts";'],
  ["operate/replay/dead-letter-record.ts", 'import { replay } from "./replay.ts";'],
  ["dead-letter/stage.ts", 'import { systemClock } from "../runtime/clock.ts";'],
  ["deliver/stage.ts", 'import { replay } from "../dead-letter/replay.ts";'],
  ["deliver/stage.ts", 'import { packRecord } from "../kafka/wire/pack-record.ts";'],
  ["stage/topic-reader.ts", 'import { createKafka } from "../kafka/kafka.ts";'],
  ["deliver/stage.ts", 'import { match } from "../route/match.ts";'],
  ["deliver/stage.ts", 'export {\n  match,\n} from "../route/match.ts";'],
  ["deliver/stage.ts", 'import "../route/match.ts";'],
  ["deliver/stage.ts", 'const { match } = await import("../route/match.ts");'],
  ["kafka/consumer.ts", 'import type { Config } from "../config/schema.ts";'],
  ["sdk/client/analytics.ts", 'import { log } from "../telemetry/log.ts";'],
  ["sdk/client/analytics.ts", 'import { parseCall } from "../domain/call.ts";'],
  ["sdk/webhooks/verify.ts", 'import { sign } from "../domain/sign.ts";'],
  ["store/members.ts", 'import { config } from "../config/load.ts";'],
  ["audience/members.ts", 'import { openStore } from "../store/store.ts";'],
  ["cli/kafka.ts", 'import { startKafka } from "../../../tools/kafka/start.ts";'],
  ["route/stage.ts", 'import { Kafka } from "kafkajs";'],
  ["kafka/encoder.ts", 'const encoder = await import("kafkajs/src/protocol/encoder.js");'],
  ["telemetry/lag.ts", 'import Encoder from "kafkajs/src/protocol/encoder.js";'],
  ["main.ts", 'import { Command } from "commander";'],
  ["kafka/produce/partition-buffer.ts", 'import { x } from "../consume/consumer.ts";'],
  ["kafka/consume/consumer.ts", 'import { x } from "../kafkajs/kafkajs.ts";'],
  ["kafka/consume/consumer.ts", 'import type { Consumer } from "kafkajs";'],
  ["kafka/cluster/connection.ts", 'import type { KafkaConfig } from "kafkajs";'],
  ["kafka/kafka.ts", 'import type { Kafka } from "kafkajs";'],
  ["kafka/wire/codecs.ts", 'import type { x } from "../kafkajs/kafkajs.ts";'],
  ["kafka/produce/partition-buffer.ts", 'import { createKafka } from "../kafka.ts";'],
  ["kafka/cluster/checksum.ts", 'import { crc32c } from "@node-rs/crc32";'],
  ["console/page/overview.tsx", 'import { startServer } from "../server.ts";'],
  ["console/page/overview.tsx", 'import { join } from "node:path";'],
  ["console/page/format.ts", 'import type { StageName } from "../../domain/stages.ts";'],
  ["console/server.ts", 'import { render } from "preact";'],
  ["console/views.ts", 'import { startServer } from "./server.ts";'],
  ["operate/look/text.ts", 'import { x } from "../run/run.ts";'],
  ["operate/look/text.ts", 'const { x } = await import("../run/run.ts");'],
  ["operate/look/text.ts", 'const yaml = await import("yaml");'],
  ["operate/look/text.ts", "const module = await import(name);"],
])("a forbidden import in %s is reported: %s", (file, source) => {
  expect(violations(file, source)).toHaveLength(1);
});

test.each([
  ["main.ts", 'import { run } from "./cli/commands.ts";'],
  ["deliver/decide.ts", 'import type { Attempt } from "../domain/delivery.ts";'],
  ["deliver/stage.ts", 'import { packRecord } from "../kafka/port.ts";'],
  ["audience/ports.ts", 'import type { Producer } from "../kafka/port.ts";'],
  ["audience/partition-work.ts", 'import { oneAtATime } from "../stage/serial-runner.ts";'],
  ["operate/replay/replay.ts", 'import { ClosedError } from "../kafka/port.ts";'],
  ["sdk/client/analytics.ts", 'import type { Call } from "../domain/call.ts";'],
  ["sdk/client/validate.ts", 'import { readTimestamp } from "../domain/timestamp.ts";'],
  ["cli/run.ts", 'import { startDeliver } from "../deliver/stage.ts";'],
  ["kafka/kafkajs/encoder.ts", 'import Encoder from "kafkajs/src/protocol/encoder.js";'],
  ["kafka/kafkajs/membership.ts", 'import type { Member } from "../membership.ts";'],
  ["kafka/wire/checksum.ts", 'import { crc32c } from "@node-rs/crc32";'],
  ["audience/stage.ts", 'import { openStore } from "../store/store.ts";'],
  ["sdk/webhooks/verify.ts", 'import type { Call } from "../domain/call.ts";'],
  ["kafka/produce/partition-buffer.ts", 'import { brokers } from "../cluster/brokers.ts";'],
  ["kafka/consume/consumer.ts", 'import type { Consumer } from "../port.ts";'],
  ["console/page/overview.tsx", 'import { useState } from "preact/hooks";'],
  ["console/page/overview.tsx", 'import type { Overview } from "../view.ts";'],
  ["cli/program.ts", 'import { runCommand } from "./run/command.ts";'],
  ["cli/program.ts", 'const { runCommand } = await import("./run/command.ts");'],
])("an allowed import in %s is not: %s", (file, source) => {
  expect(violations(file, source)).toEqual([]);
});
