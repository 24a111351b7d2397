/** `docs/sizing.md`: figures of `bench/RESULTS.md`, so that they change with each measurement. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Row = Readonly<Record<string, string>>;

interface Measured {
  /** The day of the measurement. */
  readonly date: string;
  readonly machine: string;
  readonly rows: readonly Row[];
  readonly text: string;
}

const RESULTS = readFileSync(join(import.meta.dirname, "../../bench/RESULTS.md"), "utf8");

/** A part of the page of results, with its first table. */
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
  const [, date = "", machine = ""] =
    /, (\d{4}-\d\d-\d\d), commit \w+\. ([^;]*?), load average/.exec(part) ?? [];
  assert(date !== "" && rows.length > 0, `bench/RESULTS.md: ${name} has no date or no table`);
  return { date, machine, rows, text: part };
}

/** The cell of the only row that has all of `where`. */
export function cell({ rows }: Measured, where: Row, column: string): string {
  const found = rows.filter((row) =>
    Object.entries(where).every(([name, value]) => row[name] === value),
  );
  const value = found[0]?.[column];
  assert(found.length === 1 && value !== undefined, `${column} of ${JSON.stringify(where)}`);
  return value;
}

/** Deliveries of `bench destinations`. */
const BUSY_PER_SECOND = 1_500;
const EVERYDAY = "30 calls a second, each to all ten";
/** The setting's default. */
const CONCURRENCY = 64;

const count = (text: string | number) => Number(text).toLocaleString("en-US");

/** Two digits are as much as a plan can use. */
function perCore(cpuMsPerThousand: string): string {
  return count(Number((1e6 / Number(cpuMsPerThousand)).toPrecision(2)));
}

function stageRows(): readonly string[] {
  const row = (what: string, cpu: string, second: string, mb: string) =>
    `| ${what} | ${cpu} | ${perCore(cpu)} | ${count(second)} | ${mb} |`;
  const route = measured("route");
  const deliver = measured("deliver");
  const whole = measured("product");
  const together = (column: string) => cell(whole, { contestant: "all stages" }, column);
  const ingest = measured("ingest");
  const ours = { contestant: "Switchyard route" };
  const routed = (calls: string, column: string) =>
    cell(route, { ...ours, "calls go to": calls }, column);
  const level = { contestant: "Switchyard, log level info" };
  const taken = { contestant: "Switchyard ingest", "calls a batch": "20" };
  return [
    row(
      "`route`, each call to two destinations on average",
      routed("(b) two on average", "CPU ms / 1,000 calls"),
      routed("(b) two on average", "calls / s"),
      routed("(b) two on average", "peak MB"),
    ),
    row(
      "`route`, each call to five",
      routed("(a) all five", "CPU ms / 1,000 calls"),
      routed("(a) all five", "calls / s"),
      routed("(a) all five", "peak MB"),
    ),
    row(
      "`deliver`, one destination that answers at once",
      cell(deliver, level, "CPU ms / 1,000"),
      cell(deliver, level, "requests / s"),
      cell(deliver, level, "peak MB"),
    ),
    row(
      "`route` and `deliver` in one process, one destination",
      together("CPU ms / 1,000"),
      together("deliveries / s"),
      together("peak MB"),
    ),
    row(
      "`ingest`, batches of 20 calls",
      cell(ingest, taken, "CPU ms / 1,000"),
      cell(ingest, taken, "calls / s"),
      cell(ingest, taken, "peak MB"),
    ),
  ];
}

function memoryRows(): readonly string[] {
  const idle = measured("idle");
  const busy = measured("destinations");
  const busyAt = (column: string) => cell(busy, { destinations: "1000" }, column);
  const busyCpu = Math.round((Number(busyAt("CPU us a delivery")) * BUSY_PER_SECOND) / 1e4);
  const backlog = measured("deliver-memory");
  const audience = measured("audience-10m");
  const idleAt = (destinations: string, column: string) =>
    cell(idle, { "idle destinations": destinations }, column);
  const most = Math.max(...backlog.rows.map((row) => Number(row["most MB"])));
  const mostOfAudience = Math.max(...audience.rows.map((row) => Number(row["peak MB"])));
  return [
    `| 10 destinations, idle | ${idleAt("10", "MB")} | ${idleAt("10", "% of a core")} % of a core |`,
    `| 1,000 destinations, idle | ${idleAt("1000", "MB")} | ${idleAt("1000", "% of a core")} % of a core |`,
    `| 3,000 destinations, idle | ${idleAt("3000", "MB")} | ${idleAt("3000", "% of a core")} % of a core |`,
    `| 1,000 destinations, 1,500 deliveries a second in all | ${busyAt("MB")} | ${busyCpu} % of a core |`,
    `| 100 destinations, one with a backlog of 10 million records | ${most} | |`,
    `| an audience of 10 million members | ${mostOfAudience} | |`,
  ];
}

/** Ten times ten million, and a quarter of it for each of four processes. */
function hundredMillion(): readonly string[] {
  const minutes = (sync: string, times: number) => {
    const seconds = Number(cell(measured("audience-10m"), { sync }, "s"));
    return `${Math.ceil((seconds * times) / 60)} min`;
  };
  const row = (what: string, times: number, bits: string) =>
    `| ${what} | ${minutes("first", times)} | ${minutes("unchanged", times)} | ${minutes("1 % in, 1 % out", times)} | ${bits} |`;
  return [
    row("one audience: one partition, one process", 10, "12.5 MB"),
    row("four audiences of 25 million: four partitions, four processes", 2.5, "3.1 MB"),
  ];
}

function onDisk(): string {
  const text = measured("audience-10m").text;
  const found = /beyond the id: ([\d.]+) on local disk, ([\d.]+) in the changelog/.exec(text);
  assert(found !== null, "bench/RESULTS.md: audience-10m says no bytes per member");
  return `${found[1]} bytes on local disk and ${found[2]} bytes in the changelog`;
}

function readyCpuS(): string {
  const found = /were ready after ([\d.]+) s of CPU/.exec(measured("destinations").text);
  assert(found !== null, "bench/RESULTS.md: destinations says no CPU of a start");
  return found[1] ?? "";
}

export function renderSizing(): string {
  const { date, machine } = measured("route");
  const latency = (column: string) =>
    cell(measured("everyday-short"), { load: EVERYDAY, minute: "second" }, column);
  const late = (column: string) => cell(measured("delay"), { tier: "all" }, column);
  const sync = (name: string) =>
    count(cell(measured("audience-10m"), { sync: name }, "members / s"));
  return `# Sizing

All figures are those of [bench/RESULTS.md](../bench/RESULTS.md), which says how each was measured. This page is generated from it by \`npm run docs\`, and a test compares
the two. They were measured on ${date} with ${machine}, with Kafka on the same machine. Your
cores, your Kafka and your receivers are others: \`npm run bench all\` measures yours.

## CPU

| Stage | CPU ms per 1,000 | A second and core | Measured a second | Most MB |
|---|---|---|---|---|
${stageRows().join("\n")}

- A process uses one core for its own code, and some of another for compression and garbage collection. Give it two.
- Add up the stages: a call that comes over HTTP and goes to two destinations is taken once, routed once and delivered twice.
- Plan for half of the measured rate. A backlog after an outage then shrinks as fast as calls come in.
- Stages can run apart: \`switchyard run --stages deliver,delay\`. Start more processes of the stage that is busy.

## Latency

From the append to \`calls\` until the webhook is at the receiver, with ten destinations and 300 deliveries a second: median ${latency("median ms")} ms, p99 ${latency("p99 ms")} ms. A delivery that waits for its next attempt is back
${late("median ms late")} ms after it is due (median), ${late("p99 ms late")} ms at p99.

## One destination

A destination gets at most \`concurrency\` requests at a time from each process. So a receiver that takes 200 ms gets at most ${CONCURRENCY} / 0.2 s = ${CONCURRENCY / 0.2} requests a second at the default
of ${CONCURRENCY}. To get more, raise \`concurrency\`, or start more processes, up to the partitions of its topic.

| Receiver takes | \`concurrency\` for 1,000 requests a second |
|---|---|
| 20 ms | 20 |
| 200 ms | 200 |
| 1 s | 1,000 |

## Memory

| Process with | MB | CPU |
|---|---|---|
${memoryRows().join("\n")}

Memory does not grow with a backlog. It grows with the number of destinations. Give a process 512 MB, and 1 GB with 1,000 destinations (2 GB with 3,000), an audience of
10 million members, or \`ingest.maxInFlightBytes\` above its default.

## Audiences

| Sync of 10 million members | Members a second |
|---|---|
| first | ${sync("first")} |
| unchanged | ${sync("unchanged")} |
| 1 % in, 1 % out | ${sync("1 % in, 1 % out")} |

A member takes its id and ${onDisk()}. While a sync is open, each member
takes one bit of memory, up to 16 MiB for each partition.

### An audience of 100 million

Reckoned from ten million, with two cores and a disk for each process, and not measured. LevelDB keeps 1,400 tables of 100 million members, and opens each of them once for 200,000 users: that adds a tenth. Its
compaction grows by a level, which is part of the first sync alone. A store of 25 million is rebuilt in 18 min, and one of 100 million in 72 min
([how long](operations.md#restore-the-audience-store)).

| 100 million members | First sync | Unchanged | 1 % in, 1 % out | Bits of a process |
|---|---|---|---|---|
${hundredMillion().join("\n")}

An audience is in one partition, so more processes do not make its sync faster. They do where members are in several audiences. [The decision record](decisions/0040-arrivals.md#one-audience-over-several-partitions)
says how one audience would be spread by a hash of the user id, and what has to change for it.

## Kafka

| Of | Choose |
|---|---|
| partitions | As many as the processes that you will ever start with one stage; the default is 6. More later puts calls of one user out of order for a while. |
| disk | Bytes a second of calls x (1 + destinations of a call) x the retention of 7 days x the replication factor. 1 MB/s of calls to two destinations with three replicas is 1 x 3 x 604,800 x 3 MB = 5.4 TB. Compression by your producers makes the first copy smaller. |
| replicas | 3, with \`min.insync.replicas=2\`. |
| sockets | At most four for each broker and process, however many destinations there are, and one more for each group that begins or rebalances, for a few seconds. |
| groups | One for each destination, with a heartbeat from each process every 5 s, or every half of \`kafka.sessionTimeout\` where that is less. So with many destinations start few processes. One process and one broker were measured with 1,000 destinations of three partitions under load, ready after ${readyCpuS()} s of CPU, and with 3,000 that were idle. |
`;
}
