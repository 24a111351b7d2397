/** `docs/sizing.md`: figures from `bench/RESULTS.md`, so that the page changes with each measurement. */

import assert from "node:assert/strict";

import { pageWith, readPage, table } from "./page.ts";

type Row = Readonly<Record<string, string>>;

interface Measured {
  readonly rows: readonly Row[];
  readonly text: string;
}

const RESULTS = readPage("bench/RESULTS.md");

/** Returns a part of the results with its first table. */
export function measured(name: string, results: string = RESULTS): Measured {
  const [, text] = `${results}\n## `.split(`\n## ${name}\n`);
  assert(text !== undefined, `bench/RESULTS.md has no part ${name}`);
  const part = text.split("\n## ", 1)[0] ?? "";
  const lines = part.split("\n");
  const first = lines.findIndex((line) => line.startsWith("| "));
  const [names = [], , ...cells] = lines.slice(first, lines.indexOf("", first)).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const rows = cells.map((row) =>
    Object.fromEntries(names.map((column, index) => [column, row[index] ?? ""])),
  );
  assert(rows.length > 0, `bench/RESULTS.md: ${name} has no table`);
  return { rows, text: part };
}

/** Returns the cell of the only row that matches `where`. */
export function cell({ rows }: Measured, where: Row, column: string): string {
  const found = rows.filter((row) =>
    Object.entries(where).every(([name, value]) => row[name] === value),
  );
  const value = found[0]?.[column];
  assert(found.length === 1 && value !== undefined, `${column} of ${JSON.stringify(where)}`);
  return value;
}

/** The load of `bench destinations`. */
const BUSY_PER_SECOND = 1_500;
const EVERYDAY = "30 calls a second, each to all ten";

const count = (text: string | number) => Number(text).toLocaleString("en-US");

/** Rounds to two digits, which is precise enough for planning. */
function perCore(cpuMsPerThousand: string): string {
  return count(Number((1e6 / Number(cpuMsPerThousand)).toPrecision(2)));
}

/** Returns rows for benches: CPU, rate, memory. */
function stages(): string {
  const row = (what: string, bench: string, where: Row, cpuColumn: string, each: string) => {
    const part = measured(bench);
    const cpu = cell(part, where, cpuColumn);
    const mb = cell(part, where, "peak MB");
    return [what, cpu, perCore(cpu), count(cell(part, where, `${each} / s`)), mb];
  };
  const route = (what: string, calls: string) => {
    const where = { program: "Switchyard route", "calls go to": calls };
    return row(what, "route", where, "CPU ms / 1,000 calls", "calls");
  };
  const cpu = "CPU ms / 1,000";
  const deliver = { program: "Switchyard, log level info" };
  const ingest = { program: "Switchyard ingest", "calls a batch": "20" };
  return table(
    ["Stage", "CPU ms per 1,000", "Per second and core", "Measured per second", "Peak MB"],
    [
      route("`route`, two destinations per call on average", "(b) two on average"),
      route("`route`, five destinations per call", "(a) all five"),
      row(
        "`deliver`, a destination that responds immediately",
        "deliver",
        deliver,
        cpu,
        "requests",
      ),
      row(
        "`route` and `deliver` in one process, one destination",
        ...(["product", { program: "all stages" }, cpu, "deliveries"] as const),
      ),
      row("`ingest`, batches of 20 calls", "ingest", ingest, cpu, "calls"),
    ],
  );
}

function latency(): string {
  const everyday = { load: EVERYDAY, minute: "second" };
  const delivery = (column: string) => cell(measured("everyday"), everyday, column);
  const late = (column: string) => cell(measured("delay"), { delay: "all" }, column);
  return table(
    ["", "Median ms", "p99 ms"],
    [
      ["a delivery", delivery("median ms"), delivery("p99 ms")],
      ["a retry, after it is due", late("median ms late"), late("p99 ms late")],
    ],
  );
}

function memory(): string {
  const idle = (destinations: string) => {
    const at = (column: string) =>
      cell(measured("idle"), { "idle destinations": destinations }, column);
    const cpu = `${at("% of a core")} % of a core`;
    return [`${count(destinations)} destinations, idle`, at("MB"), cpu];
  };
  const busy = measured("destinations");
  const busyAt = (column: string) => cell(busy, { destinations: "1000" }, column);
  const busyCpu = Math.round((Number(busyAt("CPU us a delivery")) * BUSY_PER_SECOND) / 1e4);
  const [, readyS] = /were ready after ([\d.]+) s of CPU/.exec(busy.text) ?? [];
  assert(readyS !== undefined, "bench/RESULTS.md: destinations says no CPU of a start");
  const most = (bench: string, column: string) =>
    `${Math.max(...measured(bench).rows.map((row) => Number(row[column])))}`;
  return table(
    ["Process with", "MB", "CPU"],
    [
      ...["10", "1000", "3000"].map(idle),
      [
        "1,000 destinations, 1,500 deliveries per second in total",
        ...[busyAt("MB"), `${busyCpu} % of a core; ${readyS} s to start`],
      ],
      [
        "100 destinations, one with a backlog of 10 million records",
        ...[most("deliver-memory", "most MB"), ""],
      ],
      ["an audience of 10 million members", most("audience-10m", "peak MB"), ""],
    ],
  );
}

const SYNCS = ["first", "unchanged", "1 % in, 1 % out"];

function audiences(): string {
  const part = measured("audience-10m");
  const found = /beyond the id: ([\d.]+) on local disk, ([\d.]+) in the changelog/.exec(part.text);
  assert(found !== null, "bench/RESULTS.md: audience-10m says no bytes per member");
  const [, disk = "", changelog = ""] = found;
  return table(
    ["Sync of 10 million members", "Members per second", "Bytes on disk", "Bytes in the changelog"],
    SYNCS.map((sync) => [sync, count(cell(part, { sync }, "members / s")), disk, changelog]),
  );
}

/** Returns the figures for ten times ten million, and a quarter of them for each of four processes. */
function hundredMillion(): string {
  const row = (what: string, times: number, bits: string) => {
    const minutes = SYNCS.map((sync) => {
      const seconds = Number(cell(measured("audience-10m"), { sync }, "s"));
      return `${Math.ceil((seconds * times) / 60)} min`;
    });
    return [what, ...minutes, bits];
  };
  return table(
    [
      "100 million members",
      "First sync",
      "Unchanged",
      "1 % in, 1 % out",
      "Memory for an open sync",
    ],
    [
      row("one audience: one partition, one process", 10, "12.5 MB"),
      row("four audiences of 25 million: four partitions, four processes", 2.5, "3.1 MB"),
    ],
  );
}

export function renderSizing(): string {
  return pageWith("docs/sizing.md", {
    stages: stages(),
    latency: latency(),
    memory: memory(),
    audiences: audiences(),
    "hundred million": hundredMillion(),
  });
}
