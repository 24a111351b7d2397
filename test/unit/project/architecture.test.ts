// Who may import whom. The table is the rule; ARCHITECTURE.md explains it.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = join(import.meta.dirname, "../../../src");

/** Each type of destination has the same row, and none imports another. Commands as well. */
const TYPE = "router/destinations/<type>";
const COMMAND = "program/cli/<command>";
const FOUNDATIONS = "domain base/*";
const CLIENTS = `${FOUNDATIONS} kafka registry`;
const STAGE = `${CLIENTS} router/stage`;
const SENDING_STAGE = `${STAGE} router/suppression`;
const OPERATED = `${CLIENTS} kafka/cluster router/* config`;

type Row = readonly [room: string, imports: string, packages: string];

/**
 * Each room of src, which other rooms it may import, and which packages. `name/*` stands for `name` and all rooms in
 * it, and `node` for modules of Node that read files, open sockets or look at the process. The first parts of the
 * names are the trees, from the ground up: a tree imports none that is below it here. The top of a tree that has a
 * port is only its port to the others.
 */
const TABLE: readonly Row[] = [
  ["domain", "", "ipaddr.js"],
  ["base/words", "domain", ""],
  ["base/runtime", "domain", "node ipaddr.js"],
  ["base/telemetry", "domain base/telemetry/log-lines", "node pino prom-client"],
  ["base/telemetry/log-lines", "", ""],
  [
    "base/telemetry/tracing",
    "domain",
    "@opentelemetry/api @opentelemetry/exporter-trace-otlp-proto @opentelemetry/resources @opentelemetry/sdk-trace",
  ],
  ["base/settings", "domain", ""],
  ["base/http", "domain base/runtime", "node undici"],
  // Clients of what is outside.
  ["kafka", `${FOUNDATIONS} kafka/*`, ""],
  ["kafka/wire", "domain", "@node-rs/crc32 lz4-napi snappy"],
  ["kafka/broker", "domain base/runtime kafka/wire", "node @platformatic/kafka"],
  ["kafka/cluster", `${FOUNDATIONS} kafka kafka/wire kafka/broker`, "node"],
  ["kafka/fetch", `${FOUNDATIONS} kafka kafka/wire kafka/broker kafka/cluster`, ""],
  [
    "kafka/group",
    `${FOUNDATIONS} kafka kafka/broker kafka/cluster kafka/fetch`,
    "@platformatic/kafka",
  ],
  ["kafka/produce", `${FOUNDATIONS} kafka kafka/wire kafka/broker kafka/cluster`, ""],
  ["kafka/consume", `${FOUNDATIONS} kafka kafka/cluster`, ""],
  ["registry", `${FOUNDATIONS} registry/avro`, "node undici @kafkajs/confluent-schema-registry"],
  ["registry/avro", "domain", "avsc"],
  // The router. Rules are pure, because the configuration is checked with them as well.
  ["router/topics", "domain", ""],
  ["router/control", CLIENTS, ""],
  ["router/rules", "domain router/rules/fql", ""],
  ["router/rules/fql", "domain", ""],
  ["router/rules/settings", "domain base/settings router/rules router/rules/fql", ""],
  ["router/destinations", `domain base/settings router/rules/settings ${TYPE}`, ""],
  [TYPE, `${FOUNDATIONS} router/destinations`, "node undici"],
  ["router/suppression", `${CLIENTS} router/control`, ""],
  ["router/ledger", `${FOUNDATIONS} kafka`, ""],
  ["router/stage", `${CLIENTS} router/control router/ledger router/suppression`, ""],
  ["router/order", `${CLIENTS} router/control`, ""],
  // Stages meet in topics alone.
  ["router/ingest", SENDING_STAGE, "node"],
  ["router/route", `${SENDING_STAGE} router/ledger router/rules`, ""],
  [
    "router/deliver",
    `${SENDING_STAGE} router/control router/ledger router/order router/destinations router/deliver/order`,
    "",
  ],
  ["router/deliver/order", `${STAGE} router/ledger router/order router/deliver`, ""],
  ["router/delay", `${STAGE} router/control router/ledger router/order`, ""],
  ["router/audience", `${STAGE} router/audience/store`, ""],
  ["router/audience/store", FOUNDATIONS, "node classic-level"],
  ["router/deletion", `${SENDING_STAGE} router/ledger router/rules`, ""],
  ["config", `${FOUNDATIONS} router/destinations router/rules router/rules/settings`, "node yaml"],
  // What operators see and do, whatever shows it.
  ["operator/connect", OPERATED, "node commander picocolors"],
  ["operator/replay", `${OPERATED} operator/connect`, ""],
  ["operator/audit", `${OPERATED} operator/connect`, ""],
  ["operator/timeline", `${OPERATED} operator/connect`, ""],
  ["operator/events", `${CLIENTS} router/stage`, ""],
  ["operator/look", `${OPERATED} operator/connect operator/replay`, ""],
  ["operator/act", `${OPERATED} operator/connect`, ""],
  ["operator/console", `${FOUNDATIONS} router/stage operator/look`, "node"],
  // It runs in a browser.
  ["operator/console/page", "base/words operator/console operator/look", "preact uplot"],
  ["operator/console/read", `${OPERATED} operator/*`, "node"],
  ["program/run", `${OPERATED} operator/*`, "node"],
  ["program/cli", `${OPERATED} operator/* program/run ${COMMAND}`, "node commander"],
  [COMMAND, `${OPERATED} registry kafka/consume operator/* program/cli`, "node commander yaml"],
  ["", "program/cli operator/connect", ""],
  // Published on their own, with two files of `domain` (`test/local/client-package.test.ts`). Types of
  // it may be used anyhow: nothing is left of them.
  ["sdk/client", "domain", "node"],
  ["sdk/webhooks", "", ""],
];
const ROWS = new Map(TABLE.map(([room, ...row]) => [room, row]));
/** Modules of Node that compute. What is impure in node:crypto is caught by the purity lint. */
const PURE_MODULES = [
  ...["node:assert/strict", "node:buffer", "node:crypto", "node:events", "node:timers/promises"],
  ...["node:url", "node:util", "node:zlib"],
];
/** Where a room may import some files of another, and not all. */
const PORTS: readonly (readonly [from: RegExp, to: string, files: RegExp])[] = [
  [/^(kafka|router)\//, "kafka", /\/(port|membership|uncommitted-ranges)\.ts$/],
  [/^router\//, "router/destinations", /\/(port|common-settings)\.ts$/],
  [/^sdk\/client$/, "domain", /\/(json|timestamp)\.ts$/],
  // What runs in a browser knows of the server what it is told, and nothing of how.
  [/^operator\/console\/page$/, "operator/console", /\/((query|action)-)?view\.ts$/],
  [/^operator\/console(\/page)?$/, "operator/look", /\/status-report\.ts$/],
];
const NAMELESS = /[-/](?:utils?|helpers?|common|types?|manager|service|misc)\.tsx?$/;
const IMPORT =
  /^(?:import|export)\s+(type\s+)?(?:[^"=;]*?from\s+)?"([^"]+)"|\bimport\(\s*"(\.[^"]+)",?\s*\)/gm;
/** Rooms that load code when it is needed, so that `--help` is quick and a process holds little. */
const LAZY = /^$|^router\/destinations|^program\/|^operator\/(?!console\/page)/;

function roomOf(file: string): string {
  if (!file.includes("/")) return "";
  return dirname(file)
    .replace(/^router\/destinations\/.+/, TYPE)
    .replace(/^program\/cli\/.+/, COMMAND);
}

function treeOf(room: string): string {
  return room.split("/", 1)[0] ?? "";
}

function matches(room: string, pattern: string): boolean {
  const folder = pattern.replace(/\/\*$/, "");
  return room === folder || (folder !== pattern && room.startsWith(`${folder}/`));
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
  const isLazy = LAZY.test(room) && !/\bimport\((?!\s*"\.)/.test(source);
  if (/\bimport\(/.test(source) && !isLazy) return [`${file}: dynamic import`];
  const isAllowed = ({ specifier, isType, target }: Import): boolean => {
    if (target === null) return isPackageAllowed(packages ?? [], specifier);
    const to = roomOf(target);
    if (to === room) return dirname(target) === dirname(file);
    if (treeOf(room) === "sdk" && isType && to === "domain") return true;
    const isBeyondPort = ([from, folder, port]: (typeof PORTS)[number]): boolean =>
      to === folder && from.test(room) && !port.test(target);
    return !PORTS.some(isBeyondPort) && (imports ?? []).some((pattern) => matches(to, pattern));
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
    const shared = OPERATED.split(" ");
    const unused = TABLE.flatMap(([room, imports, packages]) => {
      const used = sources
        .filter(({ file }) => roomOf(file) === room)
        .flatMap(({ file, source }) => importsOf(file, source));
      const rooms = used.map(({ target }) => (target === null ? "" : roomOf(target)));
      const names = used.map(({ specifier }) =>
        specifier.startsWith("node:") && !PURE_MODULES.includes(specifier)
          ? "node"
          : packageOf(specifier),
      );
      return [
        ...imports
          .split(" ")
          .filter((to) => to !== "" && !shared.includes(to))
          .filter((to) => !rooms.some((each) => matches(each, to))),
        ...packages.split(" ").filter((name) => name !== "" && !names.includes(name)),
      ].map((to) => `${room} -> ${to}`);
    });
    expect(unused).toEqual([]);
  });

  test("lets no tree import one that is below it", () => {
    const trees = [...new Set(TABLE.map(([room]) => treeOf(room)))];
    const up = TABLE.flatMap(([room, imports]) =>
      imports
        .split(" ")
        .filter((to) => to !== "" && room !== "")
        .filter((to) => trees.indexOf(treeOf(to)) > trees.indexOf(treeOf(room)))
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
  ["router/route/route.ts", 'import { request } from "undici";'],
  ["router/deliver/decide.ts", 'import type { Brokers } from "../../kafka/cluster/brokers.ts";'],
  ["router/deliver/stage.ts", 'import { replay } from "../../operator/replay/replay.ts";'],
  ["router/deliver/stage.ts", 'import { match } from "../route/match.ts";'],
  ["router/deliver/stage.ts", 'import { judge } from "../destinations/webhook/judge.ts";'],
  ["router/destinations/webhook/http.ts", 'import { topic } from "../topic/topic.ts";'],
  ["router/destinations/webhook/http.ts", 'import { typeOf } from "../index.ts";'],
  [
    "router/destinations/webhook/http.ts",
    'import type { Config } from "../../../config/config.ts";',
  ],
  ["router/deliver/stage.ts", 'export {\n  match,\n} from "../route/match.ts";'],
  ["router/deliver/stage.ts", 'import "../route/match.ts";'],
  ["router/deliver/stage.ts", 'const { match } = await import("../route/match.ts");'],
  ["kafka/consumer.ts", 'import type { Config } from "../config/schema.ts";'],
  ["sdk/client/analytics.ts", 'import { log } from "../../base/telemetry/log.ts";'],
  ["sdk/client/analytics.ts", 'import { parseCall } from "../../domain/call.ts";'],
  ["sdk/webhooks/verify.ts", 'import { sign } from "../../domain/sign.ts";'],
  ["router/audience/store/members.ts", 'import { config } from "../../../config/load.ts";'],
  ["program/cli/kafka.ts", 'import { startKafka } from "../../../../tools/kafka/start.ts";'],
  ["router/route/stage.ts", 'import { Kafka } from "kafkajs";'],
  ["kafka/encoder.ts", 'const encoder = await import("kafkajs/src/protocol/encoder.js");'],
  ["base/telemetry/lag.ts", 'import Encoder from "kafkajs/src/protocol/encoder.js";'],
  ["main.ts", 'import { Command } from "commander";'],
  ["kafka/produce/partition-buffer.ts", 'import { x } from "../consume/consumer.ts";'],
  ["kafka/produce/partition-buffer.ts", 'import { createKafka } from "../kafka.ts";'],
  ["kafka/consume/consumer.ts", 'import { x } from "../broker/requests.ts";'],
  ["kafka/consume/consumer.ts", 'import type { Consumer } from "kafkajs";'],
  ["kafka/wire/codecs.ts", 'import { x } from "@platformatic/kafka/dist/network/connection.js";'],
  ["kafka/cluster/checksum.ts", 'import { crc32c } from "@node-rs/crc32";'],
  ["operator/console/page/overview.tsx", 'import { startServer } from "../server.ts";'],
  ["operator/console/page/overview.tsx", 'import { join } from "node:path";'],
  [
    "operator/console/page/format.ts",
    'import type { StageName } from "../../../domain/stages.ts";',
  ],
  ["operator/console/server.ts", 'import { render } from "preact";'],
  ["operator/look/text.ts", 'import { x } from "../../program/run/run.ts";'],
  ["operator/look/text.ts", 'import { x } from "../../program/cli/confirm.ts";'],
  ["operator/look/text.ts", 'const yaml = await import("yaml");'],
  ["program/cli/program.ts", "const module = await import(name);"],
])("a forbidden import in %s is reported: %s", (file, source) => {
  expect(violations(file, source)).toHaveLength(1);
});

test.each([
  ["main.ts", 'import { run } from "./program/cli/commands.ts";'],
  ["router/deliver/stage.ts", 'import { packRecord } from "../../kafka/port.ts";'],
  ["router/destinations/webhook/http.ts", 'import { judge } from "./judge.ts";'],
  ["router/audience/partition-work.ts", 'import { oneAtATime } from "../stage/serial-runner.ts";'],
  ["sdk/client/analytics.ts", 'import type { Call } from "../../domain/call.ts";'],
  ["kafka/broker/requests.ts", 'import { metadataV12 } from "@platformatic/kafka";'],
  ["kafka/group/member.ts", 'import type { Member } from "../membership.ts";'],
  ["kafka/consume/consumer.ts", 'import type { Consumer } from "../port.ts";'],
  ["operator/console/page/overview.tsx", 'import { useState } from "preact/hooks";'],
  ["operator/console/page/overview.tsx", 'import type { Overview } from "../view.ts";'],
  ["program/cli/program.ts", 'const { runCommand } = await import("./audience/command.ts");'],
])("an allowed import in %s is not: %s", (file, source) => {
  expect(violations(file, source)).toEqual([]);
});
