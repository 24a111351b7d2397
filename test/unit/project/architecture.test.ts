// Who may import whom. The table is the rule; ARCHITECTURE.md explains it.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = join(import.meta.dirname, "../../../src");

const GROUND = "domain words runtime";
const TELEMETRY = "telemetry telemetry/log-lines telemetry/tracing";
const STAGES = "ingest route deliver delay audience deletion";
/** Each type of destination has the same row, and none imports another. */
const TYPE = "destinations/<type>";
const CONNECT = `${GROUND} settings config topics registry kafka kafka/cluster control ${TELEMETRY} stage`;

type Row = readonly [room: string, imports: string, packages: string];

/**
 * Each room of src, which other rooms it may import, and which packages. `node` stands for modules
 * of Node that read files, open sockets or look at the process. Rooms are listed from the ground up:
 * a house imports none that is below it here. Of a house with rooms, these may import its top where
 * their row says so.
 */
const TABLE: readonly Row[] = [
  // Ground.
  ["domain", "", "ipaddr.js"],
  ["words", "domain", ""],
  ["runtime", "domain", "node ipaddr.js"],
  // What rules make of a call: pure, and needed where the configuration is checked as well.
  ["route/rules/fql", "domain", ""],
  ["route/rules", "domain route/rules/fql", ""],
  // Adapters: the world outside, and the configuration.
  ["telemetry", "domain telemetry/log-lines", "node pino prom-client"],
  ["telemetry/log-lines", "", ""],
  [
    "telemetry/tracing",
    "domain",
    "@opentelemetry/api @opentelemetry/exporter-trace-otlp-proto @opentelemetry/resources @opentelemetry/sdk-trace",
  ],
  ["settings", "domain route/rules route/rules/fql", ""],
  ["topics", "domain", ""],
  ["http", "domain runtime", "node undici"],
  [
    "registry",
    "domain runtime telemetry http registry/avro",
    "node undici @kafkajs/confluent-schema-registry",
  ],
  ["registry/avro", "domain", "avsc"],
  [
    "kafka",
    "domain runtime telemetry kafka/wire kafka/cluster kafka/fetch kafka/group kafka/produce kafka/consume",
    "",
  ],
  ["kafka/wire", "domain", "@node-rs/crc32 lz4-napi snappy"],
  ["kafka/broker", "domain runtime kafka/wire", "@platformatic/kafka"],
  [
    "kafka/cluster",
    "domain runtime telemetry telemetry/log-lines kafka kafka/wire kafka/broker",
    "node",
  ],
  ["kafka/fetch", "domain runtime kafka kafka/wire kafka/broker kafka/cluster", ""],
  [
    "kafka/group",
    "domain runtime kafka kafka/broker kafka/cluster kafka/fetch",
    "@platformatic/kafka",
  ],
  ["kafka/produce", "domain runtime kafka kafka/wire kafka/broker kafka/cluster", ""],
  ["kafka/consume", "domain runtime telemetry kafka kafka/cluster", ""],
  ["control", "domain runtime telemetry kafka", ""],
  // A type is a folder of its own, which its table imports, `run`, and the command `sign` of webhooks.
  ["destinations", `domain settings ${TYPE}`, ""],
  [TYPE, "domain settings runtime http destinations", "node undici"],
  ["config", "domain settings destinations route/rules", "node yaml"],
  // Stages. They meet in topics alone.
  ["stage", "domain runtime telemetry telemetry/tracing kafka registry control", ""],
  ["ingest", "domain runtime telemetry telemetry/tracing stage", "node"],
  ["route", "domain runtime telemetry telemetry/tracing kafka stage route/rules", ""],
  ["deliver", "domain runtime telemetry telemetry/tracing kafka control destinations stage", ""],
  ["delay", "domain runtime telemetry telemetry/tracing kafka control stage", ""],
  ["audience", "domain runtime telemetry kafka stage audience/store", ""],
  ["audience/store", "domain runtime telemetry", "node classic-level"],
  ["deletion", "domain runtime telemetry kafka stage route/rules", ""],
  // What operators see and do, whatever shows it.
  ["operate/connect", CONNECT, "node commander picocolors"],
  ["operate/replay", `${CONNECT} route operate/connect`, ""],
  [
    "operate/timeline",
    "domain runtime destinations config kafka route deliver operate/connect",
    "",
  ],
  ["operate/events", "domain runtime telemetry kafka stage", ""],
  [
    "operate/look",
    `${CONNECT} deliver delay audience audience/store operate/connect operate/replay`,
    "",
  ],
  [
    "operate/act",
    "domain runtime words config kafka control audience delay operate/connect",
    "commander",
  ],
  // Faces.
  ["console", "domain words runtime telemetry stage", "node"],
  ["console/page", "words console", "preact uplot"],
  [
    "console/read",
    `${CONNECT} audience console operate/connect operate/replay operate/timeline operate/look operate/act`,
    "node",
  ],
  [
    "run",
    `${CONNECT} destinations ${TYPE} ${STAGES} audience/store operate/connect operate/events console/read`,
    "node",
  ],
  [
    "cli",
    `${CONNECT} destinations ${TYPE} deletion audience/store operate/connect run
     cli/acls cli/audience cli/config cli/console cli/control cli/dead-letters cli/explain cli/filter cli/publish cli/replay
     cli/schemas cli/skip-corrupt-batch cli/status cli/timeline cli/topics`,
    "node commander",
  ],
  ["cli/acls", "cli config domain operate/connect words", "commander yaml"],
  [
    "cli/audience",
    "audience audience/store cli domain kafka operate/act operate/connect operate/look runtime words",
    "commander",
  ],
  [
    "cli/config",
    "cli settings config domain runtime operate/connect operate/timeline words",
    "commander",
  ],
  [
    "cli/console",
    "cli config console/read operate/connect operate/look runtime telemetry",
    "node commander",
  ],
  ["cli/control", "domain operate/act operate/connect runtime words", "commander"],
  [
    "cli/dead-letters",
    "cli config domain kafka operate/connect operate/replay registry words",
    "commander",
  ],
  ["cli/explain", "cli operate/connect operate/timeline runtime", "commander"],
  ["cli/filter", "cli domain operate/connect route/rules/fql words", "commander"],
  ["cli/publish", "cli domain kafka operate/connect words", "commander"],
  ["cli/replay", "domain kafka operate/connect operate/replay words", "commander"],
  ["cli/schemas", "operate/connect registry words", "node commander"],
  [
    "cli/skip-corrupt-batch",
    "config domain kafka kafka/cluster kafka/consume operate/connect words",
    "commander",
  ],
  ["cli/status", "cli operate/connect operate/look runtime words", "commander"],
  ["cli/timeline", "config domain kafka operate/connect operate/timeline runtime", "commander"],
  [
    "cli/topics",
    "cli settings config kafka kafka/cluster operate/connect runtime topics words",
    "commander yaml",
  ],
  ["", "cli operate/connect", ""],
  // Published on their own, with two files of `domain` (`test/local/client-package.test.ts`). Types of
  // it may be used anyhow: nothing is left of them.
  ["sdk/client", "domain", "node"],
  ["sdk/webhooks", "", ""],
];
const ROWS = new Map(TABLE.map(([room, ...row]) => [room, row]));
const PUBLISHED = "sdk";
/** Modules of Node that compute. What is impure in node:crypto is caught by the purity lint. */
const PURE_MODULES = [
  ...["node:assert/strict", "node:buffer", "node:crypto", "node:events", "node:timers/promises"],
  ...["node:url", "node:util", "node:zlib"],
];
/** What rooms of a house may import from its top, where that is not everything. */
const PORTS: Readonly<Record<string, RegExp>> = {
  kafka: /^kafka\/(port|membership)\.ts$/,
  destinations: /^destinations\/(port|common-settings)\.ts$/,
  "sdk/client": /^domain\/(json|timestamp)\.ts$/,
  // What runs in a browser knows of the server what it is told, and nothing of how.
  "console/page": /^console\/((query|action)-)?view\.ts$/,
};
const NAMELESS = /[-/](?:utils?|helpers?|common|types?|manager|service|misc)\.tsx?$/;
const IMPORT =
  /^(?:import|export)\s+(type\s+)?(?:[^"=;]*?from\s+)?"([^"]+)"|\bimport\("(\.[^"]+)"\)/gm;
/** Houses that load code when it is needed, so that `--help` is quick and a process holds little. */
const LAZY = ["", "destinations", "cli", "operate", "run"];

function roomOf(file: string): string {
  if (!file.includes("/")) return "";
  return dirname(file).replace(/^destinations\/.+/, TYPE);
}

/** Rules are a house of their own: the configuration checks them, too. */
function houseOf(room: string): string {
  if (room.startsWith("route/rules")) return "route/rules";
  return room.split("/", 1)[0] ?? "";
}

/** `@scope/name/path` is of the package `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function isPackageAllowed(packages: readonly string[], specifier: string): boolean {
  if (!specifier.startsWith("node:")) return packages.includes(packageOf(specifier));
  return packages.includes("node") || PURE_MODULES.includes(specifier);
}

interface Import {
  readonly specifier: string;
  readonly isType: boolean;
  /** From src; null: a package. */
  readonly target: string | null;
}

function importsOf(file: string, source: string): readonly Import[] {
  return [...source.matchAll(IMPORT)].map(([, type, eager, lazy]) => {
    const specifier = eager ?? lazy ?? "";
    const target = specifier.startsWith(".") ? normalize(join(dirname(file), specifier)) : null;
    return { specifier, isType: type !== undefined, target };
  });
}

function violations(file: string, source: string): readonly string[] {
  const room = roomOf(file);
  const row = ROWS.get(room);
  if (row === undefined) return [`${file}: no row for the room ${room}`];
  const [imports, packages] = row.map((column) => column.split(/\s+/));
  const isLazy = LAZY.includes(houseOf(room)) && !/\bimport\((?!"\.)/.test(source);
  if (/\bimport\(/.test(source) && !isLazy) return [`${file}: dynamic import`];
  const isAllowed = ({ specifier, isType, target }: Import): boolean => {
    if (target === null) return isPackageAllowed(packages ?? [], specifier);
    const to = roomOf(target);
    if (to === room && room !== TYPE) return true;
    if (to === room) return dirname(target) === dirname(file);
    if (houseOf(room) === PUBLISHED && isType && to === "domain") return true;
    const ports = PORTS[room] ?? (room === "console" ? undefined : PORTS[houseOf(to)]);
    const isBounded = houseOf(room) === houseOf(to) || houseOf(room) === PUBLISHED;
    if (isBounded && to === houseOf(to) && ports?.test(target) === false) return false;
    return (imports ?? []).includes(to);
  };
  return importsOf(file, source)
    .filter((each) => !isAllowed(each))
    .map(({ specifier, target }) => `${file} -> ${target ?? specifier}`);
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
  /\.tsx?$/.test(file),
);
const sources = files.map((file) => ({ file, source: readFileSync(join(SRC, file), "utf8") }));

test("every import goes in an allowed direction", () => {
  expect(files.length).toBeGreaterThan(0);
  expect(sources.flatMap(({ file, source }) => violations(file, source))).toEqual([]);
});

describe("the table", () => {
  test("has no arrow and no package that nobody uses", () => {
    const used = new Set(
      sources.flatMap(({ file, source }) =>
        importsOf(file, source).map(({ specifier, target }) => {
          const isNode = specifier.startsWith("node:") && !PURE_MODULES.includes(specifier);
          const name = isNode ? "node" : packageOf(specifier);
          return `${roomOf(file)} -> ${target === null ? name : roomOf(target)}`;
        }),
      ),
    );
    const shared = new Set(CONNECT.split(" "));
    const unused = TABLE.flatMap(([room, imports, packages]) =>
      `${imports} ${packages}`
        .split(/\s+/)
        .filter((to) => to !== "" && !(imports.startsWith(CONNECT) && shared.has(to)))
        .map((to) => `${room} -> ${to}`)
        .filter((arrow) => !used.has(arrow)),
    );
    expect(unused).toEqual([]);
  });

  test("lets no house import one that is below it", () => {
    const houses = [...new Set(TABLE.map(([room]) => houseOf(room)))];
    const up = TABLE.flatMap(([room, imports]) =>
      imports
        .split(/\s+/)
        .filter((to) => to !== "" && houses.indexOf(houseOf(to)) > houses.indexOf(houseOf(room)))
        .map((to) => `${room} -> ${to}`),
    );
    expect(up).toEqual([]);
  });
});

test("file names say what is inside", () => {
  expect(files.filter((file) => NAMELESS.test(file))).toEqual([]);
  const strange = ["kafka/utils.ts", "kafka/retry-helper.ts"];
  expect(strange.filter((file) => NAMELESS.test(file))).toHaveLength(2);
});

test("no file is longer than 400 lines", () => {
  const lines = (text: string) => text.split("\n").length - 1;
  expect(sources.filter(({ source }) => lines(source) > 400).map(({ file }) => file)).toEqual([]);
  expect(lines("x\n".repeat(401))).toBe(401);
});

// The check must be able to fail: a checker that understands no import finds no violation.
test.each([
  ["elsewhere/file.ts", ""],
  ["kafka/attic/x.ts", ""],
  ["domain/call.ts", 'import { x } from "../kafka/producer.ts";'],
  ["domain/call.ts", 'import type { Producer } from "../kafka/port.ts";'],
  ["domain/call.ts", 'import { readFileSync } from "node:fs";'],
  ["route/route.ts", 'import { request } from "undici";'],
  ["deliver/decide.ts", 'import type { Brokers } from "../kafka/cluster/brokers.ts";'],
  ["deliver/stage.ts", 'import { replay } from "../operate/replay/replay.ts";'],
  ["deliver/stage.ts", 'import { match } from "../route/match.ts";'],
  ["deliver/stage.ts", 'import { judge } from "../destinations/webhook/judge.ts";'],
  ["destinations/webhook/http.ts", 'import { topic } from "../topic/topic.ts";'],
  ["destinations/webhook/http.ts", 'import { typeOf } from "../index.ts";'],
  ["destinations/webhook/http.ts", 'import type { Config } from "../../config/config.ts";'],
  ["deliver/stage.ts", 'export {\n  match,\n} from "../route/match.ts";'],
  ["deliver/stage.ts", 'import "../route/match.ts";'],
  ["deliver/stage.ts", 'const { match } = await import("../route/match.ts");'],
  ["kafka/consumer.ts", 'import type { Config } from "../config/schema.ts";'],
  ["sdk/client/analytics.ts", 'import { log } from "../../telemetry/log.ts";'],
  ["sdk/client/analytics.ts", 'import { parseCall } from "../../domain/call.ts";'],
  ["sdk/webhooks/verify.ts", 'import { sign } from "../../domain/sign.ts";'],
  ["audience/store/members.ts", 'import { config } from "../../config/load.ts";'],
  ["cli/kafka.ts", 'import { startKafka } from "../../../tools/kafka/start.ts";'],
  ["route/stage.ts", 'import { Kafka } from "kafkajs";'],
  ["kafka/encoder.ts", 'const encoder = await import("kafkajs/src/protocol/encoder.js");'],
  ["telemetry/lag.ts", 'import Encoder from "kafkajs/src/protocol/encoder.js";'],
  ["main.ts", 'import { Command } from "commander";'],
  ["kafka/produce/partition-buffer.ts", 'import { x } from "../consume/consumer.ts";'],
  ["kafka/produce/partition-buffer.ts", 'import { createKafka } from "../kafka.ts";'],
  ["kafka/consume/consumer.ts", 'import { x } from "../broker/requests.ts";'],
  ["kafka/consume/consumer.ts", 'import type { Consumer } from "kafkajs";'],
  ["kafka/wire/codecs.ts", 'import { x } from "@platformatic/kafka/dist/network/connection.js";'],
  ["kafka/cluster/checksum.ts", 'import { crc32c } from "@node-rs/crc32";'],
  ["console/page/overview.tsx", 'import { startServer } from "../server.ts";'],
  ["console/page/overview.tsx", 'import { join } from "node:path";'],
  ["console/page/format.ts", 'import type { StageName } from "../../domain/stages.ts";'],
  ["console/server.ts", 'import { render } from "preact";'],
  ["operate/look/text.ts", 'import { x } from "../../run/run.ts";'],
  ["operate/look/text.ts", 'import { x } from "../../cli/confirm.ts";'],
  ["operate/look/text.ts", 'const yaml = await import("yaml");'],
  ["cli/program.ts", "const module = await import(name);"],
])("a forbidden import in %s is reported: %s", (file, source) => {
  expect(violations(file, source)).toHaveLength(1);
});

test.each([
  ["main.ts", 'import { run } from "./cli/commands.ts";'],
  ["deliver/stage.ts", 'import { packRecord } from "../kafka/port.ts";'],
  ["destinations/webhook/http.ts", 'import { judge } from "./judge.ts";'],
  ["audience/partition-work.ts", 'import { oneAtATime } from "../stage/serial-runner.ts";'],
  ["sdk/client/analytics.ts", 'import type { Call } from "../../domain/call.ts";'],
  ["kafka/broker/requests.ts", 'import { metadataV12 } from "@platformatic/kafka";'],
  ["kafka/group/member.ts", 'import type { Member } from "../membership.ts";'],
  ["kafka/consume/consumer.ts", 'import type { Consumer } from "../port.ts";'],
  ["console/page/overview.tsx", 'import { useState } from "preact/hooks";'],
  ["console/page/overview.tsx", 'import type { Overview } from "../view.ts";'],
  ["cli/program.ts", 'const { runCommand } = await import("./audience/command.ts");'],
])("an allowed import in %s is not: %s", (file, source) => {
  expect(violations(file, source)).toEqual([]);
});
