// In each situation of a destination `status`, `status --json`, the console, `GET /status` of the process
// and `wait` report the same. On a real Kafka.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationStateName, HoldReason } from "../../src/domain/destination-status.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { ProcessStatus } from "../../src/domain/process-status.ts";
import { createConsoleReader } from "../../src/operator/console/read/console-reader.ts";
import type { StatusReport } from "../../src/operator/look/status-report.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { loaded, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

interface Situation {
  /** The number of calls that are published for the destination. */
  readonly calls: number;
  readonly backlog: number;
  readonly awaitingRetry: number;
  readonly deadLetters: number;
  readonly state: DestinationStateName | null;
  readonly reason: HoldReason | null;
}

const NOTHING: Situation = {
  ...{ calls: 0, backlog: 0, awaitingRetry: 0, deadLetters: 0, state: "idle", reason: null },
};
const hold = (reason: HoldReason) => ({ state: "on-hold", reason }) as const;

/** The situations by destination. */
const SITUATIONS = {
  idle: NOTHING,
  // Its rate allows one request.
  queue: { ...NOTHING, calls: 4, backlog: 3, state: "delivering" },
  retry: { ...NOTHING, calls: 3, awaitingRetry: 3, state: "failing" },
  // Probes move deliveries from the queue to the delay topic, one at a time.
  circuit: { ...NOTHING, calls: 60, ...hold("circuit-open") },
  later: { ...NOTHING, calls: 4, backlog: 3, awaitingRetry: 1, ...hold("retry-after") },
  paused: { ...NOTHING, calls: 4, backlog: 4, ...hold("paused") },
  // The destination is paused in the configuration.
  stopped: { ...NOTHING, calls: 2, backlog: 2, ...hold("paused") },
  disabled: { ...NOTHING, backlog: 2, ...hold("disabled") },
  released: { ...NOTHING, calls: 7, state: "delivering" },
  rejected: { ...NOTHING, calls: 3, deadLetters: 3, state: "failing" },
  // Its topic has accepted a call, and then is not writable: calls are rerouted through the delay topic.
  blocked: { ...NOTHING, awaitingRetry: 3, state: "delivering" },
} satisfies Readonly<Record<string, Situation>>;
type Id = keyof typeof SITUATIONS;
const IDS = Object.keys(SITUATIONS) as readonly Id[];

/** A report about a destination; fields that are not reported are absent. */
type Report = Partial<Omit<Situation, "calls">>;
type Reports = Readonly<Record<string, Readonly<Record<string, Report>>>>;

const SETTINGS: Partial<Record<Id, object>> = {
  queue: { requestsPerSecond: 0.001 },
  circuit: { concurrency: 1 },
  later: { concurrency: 1 },
  stopped: { paused: true },
  disabled: { enabled: false },
};

/** One process with a destination for each situation. */
async function running() {
  const { prefix, brokers, kafka, write, topics } = useKafka("situations");
  /** They get the response 503. */
  const failing = new Set<string>(["retry", "circuit", "released"]);
  const receiver = await useReceiver(({ path }) => {
    const id = path.slice(1);
    if (id === "later") return { status: 429, headers: { "retry-after": "3600" } };
    if (id === "rejected") return 400;
    // A circuit does not open within a second.
    return { status: failing.has(id) ? 503 : 200, afterMs: id === "circuit" ? 60 : 0 };
  });
  const hook = (id: Id) => ({
    ...{ messageIdHeader: false, endpoints: [{ url: `${receiver.url}/${id}` }] },
    ...SETTINGS[id],
  });
  const world = useProgram({
    kafka: { brokers, topicPrefix: prefix, sessionTimeout: "6s" },
    destinations: Object.fromEntries(IDS.map((id) => [id, hook(id)])),
    delivery: { retryDelays: ["10m"] },
  });
  const program = await world.ready("route,deliver,delay");
  const command = (...args: readonly string[]) => world.inProcess(args);
  const publish = (id: Id, count = SITUATIONS[id].calls) =>
    write(
      "calls",
      Array.from({ length: count }, (_, number) => ({
        value: {
          ...{ type: "track", event: "e", userId: `u${number}` },
          integrations: { All: false, [id]: true },
        },
      })),
    );
  const accepted = (id: Id) => receiver.accepted(`/${id}`).length;
  const asked = { kafka, file: world.file, admin: await program.admin(), command };
  return { ...asked, topics, write, program, failing, accepted, publish };
}
type Running = Awaited<ReturnType<typeof running>>;
type Asked = Pick<Running, "kafka" | "file" | "admin" | "command">;

/** Brings every destination into its situation. */
async function arrange(on: Running) {
  const { write, failing, command, publish, admin } = on;
  expect(await command("pause", "paused")).toMatchObject({ status: 0 });
  const disabled = "disabled" as DestinationId;
  const headers = deliveryHeaders(deliveryOf({ destination: disabled }));
  const delivery = { value: Buffer.from("{}"), headers };
  await write("deliveries.disabled", [delivery, delivery]);
  await block(on);
  await publish("released", 1);
  await expect.poll(() => awaitingRetry(on, "released")).toBe(1);
  failing.delete("released");
  await publish("released", SITUATIONS.released.calls - 1);
  for (const id of IDS) if (id !== "released" && id !== "blocked") await publish(id);
  const state = async () => (await processStatus(admin)).get("released")?.state;
  await expect.poll(state).toBe("delivering");
  expect(await command("retry", "released")).toMatchObject({ status: 0 });
}

async function awaitingRetry(
  { command }: Pick<Running, "command">,
  id: Id,
): Promise<number | null> {
  const { out } = await command("status", "--json", "--destination", id);
  return (JSON.parse(out) as StatusReport).destinations[0]?.awaitingRetry ?? null;
}

/**
 * Makes a topic unwritable: brokers reject records that are older than the current millisecond. Publishes until enough
 * calls were rerouted, because a fast broker may accept a call.
 */
async function block(on: Running) {
  const { kafka, topics, publish, accepted } = on;
  const isDone = async () => accepted("blocked") + ((await awaitingRetry(on, "blocked")) ?? 0);
  await publish("blocked", 1);
  await expect.poll(isDone).toBe(1);
  const topic = topics.deliveries("blocked" as DestinationId);
  await kafka.admin.alterConfig(topic, { "message.timestamp.before.max.ms": "0" });
  for (
    let sent = 2;
    (await awaitingRetry(on, "blocked")) !== SITUATIONS.blocked.awaitingRetry;
    sent += 1
  ) {
    await publish("blocked", 1);
    await expect.poll(isDone).toBe(sent);
  }
}

async function processStatus(admin: string) {
  const { destinations } = (await (await fetch(`http://${admin}/status`)).json()) as ProcessStatus;
  return new Map(
    destinations.map(({ id, state, hold }) => [
      id as string,
      { state, reason: hold?.reason ?? null },
    ]),
  );
}

async function consolePoll({ kafka, file, admin }: Asked) {
  const load = () => loaded(file);
  const reader = createConsoleReader({
    ...{ current: load, load },
    admins: [admin],
    useKafka: (work) => work(kafka),
  });
  return await reader.pollOnce(new AbortController().signal);
}

const REASONS: Readonly<Record<string, HoldReason>> = {
  ...{ "circuit open": "circuit-open", "Retry-After": "retry-after" },
  ...{ paused: "paused", disabled: "disabled" },
};

/** The rows of the table of destinations, which people read. */
function readTable(text: string): ReadonlyMap<string, Report> {
  const rows = text.split("\n").map((line) => line.trim().split(/ {2,}/));
  const head = rows.findIndex(([first]) => first === "DESTINATION");
  const names = rows[head] ?? [];
  return new Map(
    rows.slice(head + 1, head + 1 + IDS.length).map((cells) => {
      const cell = (name: string) => cells[names.indexOf(name)] ?? "";
      const [, reason = ""] = /^on hold[^,]*?: ([A-Za-z-]+(?: open)?)/.exec(cell("STATE")) ?? [];
      const state = reason === "" ? /^[a-z]+/.exec(cell("STATE"))?.[0] : "on-hold";
      return [
        cells[0] ?? "",
        {
          backlog: Number(cell("BACKLOG")),
          awaitingRetry: Number(cell("AWAITING RETRY")),
          deadLetters: Number(cell("DEAD LETTERS 24H")),
          state: (state ?? null) as DestinationStateName | null,
          reason: REASONS[reason] ?? null,
        },
      ];
    }),
  );
}

/** What `wait` reports; it names the holds that only an operator can end. */
async function waitReport(command: Asked["command"], id: Id): Promise<Report> {
  const { out, err } = await command("wait", id, "--timeout", "1ms", "--json");
  const { remaining } = JSON.parse(out);
  const [, reason] = /the destination (?:is|was) (paused|disabled) by /.exec(err) ?? [];
  return {
    backlog: remaining.queued + remaining.due,
    awaitingRetry: remaining.awaitingRetry,
    reason: reason === undefined ? null : (REASONS[reason] ?? null),
  };
}

/** The reports of all of them, by destination. */
async function reported(on: Asked, isRunning: boolean): Promise<Reports> {
  const { admin, command } = on;
  const { out } = await command("status", "--json", "--admin", admin);
  const json = JSON.parse(out) as StatusReport;
  const table = readTable((await command("status", "--admin", admin)).out);
  const { destinations } = (await consolePoll(on)).report;
  const process = isRunning ? await processStatus(admin) : null;
  const found: Record<string, Record<string, Report>> = {};
  for (const id of IDS) {
    const inJson = json.destinations.find(({ destination }) => destination === id);
    const inConsole = destinations.find(({ destination }) => destination === id);
    const own = process?.get(id);
    found[id] = {
      "status --json": inJson === undefined ? {} : reportOf(inJson),
      status: table.get(id) ?? {},
      console: inConsole === undefined ? {} : reportOf(inConsole),
      ...(own && { "GET /status": own }),
      wait: await waitReport(command, id),
    };
  }
  return found;
}

function reportOf(row: StatusReport["destinations"][number]): Report {
  const { waiting, awaitingRetry, deadLettersLastDay, state, hold: on } = row;
  const counts = { backlog: waiting, awaitingRetry, deadLetters: deadLettersLastDay } as Report;
  return { ...counts, state, reason: on?.reason ?? null };
}

/** The expected reports. @param circuit the split of its deliveries, which changes with each probe */
function agreed(
  situations: Readonly<Record<Id, Situation>>,
  isRunning: boolean,
  circuit: Pick<Situation, "backlog" | "awaitingRetry">,
): Reports {
  const of = (id: Id) => {
    const { calls: _, ...all } = { ...situations[id], ...(id === "circuit" ? circuit : {}) };
    const { backlog, awaitingRetry, state, reason } = all;
    const byOperator = reason === "paused" || reason === "disabled" ? reason : null;
    return {
      ...{ "status --json": all, status: all, console: all },
      ...(isRunning ? { "GET /status": { state, reason } } : {}),
      wait: { backlog, awaitingRetry, reason: byOperator },
    };
  };
  return Object.fromEntries(IDS.map((id) => [id, of(id)]));
}

/** Each report that differs from the expected one; none if all of them agree. */
async function differences(
  on: Asked,
  situations: Readonly<Record<Id, Situation>>,
  isRunning = true,
) {
  const found = await reported(on, isRunning);
  const { backlog = 0, awaitingRetry = 0 } = found.circuit?.["status --json"] ?? {};
  const counted = backlog + awaitingRetry;
  const { calls } = situations.circuit;
  // A killed process may have written a retry without committing the delivery, which then counts twice.
  const isAll = backlog > 0 && (isRunning ? counted === calls : counted >= calls);
  const wanted = agreed(situations, isRunning, { backlog, awaitingRetry });
  const text = (report: Report | undefined) => JSON.stringify(report, Object.keys(NOTHING));
  const others = IDS.flatMap((id) =>
    Object.entries(wanted[id] ?? {}).flatMap(([name, want]) => {
      const got = found[id]?.[name];
      return text(got) === text(want) ? [] : [`${id}: ${name} ${text(got)}, not ${text(want)}`];
    }),
  );
  return isAll
    ? others
    : [...others, `circuit: ${backlog} queued, ${awaitingRetry} awaiting retry`];
}

test("a destination is reported alike in every situation, also when its process does not respond", async () => {
  const on = await running();
  await arrange(on);
  await expect.poll(() => differences(on, SITUATIONS)).toEqual([]);
  await topicProblems(on);
  await on.program.kill();
  // Only the data in Kafka and in the file are known.
  const known = (situation: Situation): Situation => {
    const isKnown = situation.reason === "paused" || situation.reason === "disabled";
    return isKnown ? situation : { ...situation, state: null, reason: null };
  };
  const without = Object.fromEntries(
    Object.entries(SITUATIONS).map(([id, situation]) => [id, known(situation)]),
  ) as Readonly<Record<Id, Situation>>;
  await expect.poll(() => differences(on, without, false)).toEqual([]);
  await processProblems(on);
});

/** Each list of problems has the topic that is not writable. */
async function topicProblems(on: Running) {
  const { admin, command, topics } = on;
  const topic = topics.deliveries("blocked" as DestinationId);
  const { out } = await command("status", "--json", "--admin", admin);
  const { unwritableTopics } = JSON.parse(out) as StatusReport;
  expect(unwritableTopics).toMatchObject([{ topic, rerouted: SITUATIONS.blocked.awaitingRetry }]);
  expect((await command("status", "--admin", admin)).out).toContain(topic);
  const { healthProblems } = await consolePoll(on);
  expect(healthProblems.filter(({ text }) => text.includes(topic))).toHaveLength(1);
  expect(await (await fetch(`http://${admin}/readyz`)).text()).toContain(topic);
}

/** Each list of problems has the process that does not respond, with the reason. */
async function processProblems(on: Asked) {
  const { admin, command } = on;
  const json = await command("status", "--json", "--admin", admin);
  expect(json.status).toBe(1);
  const { processes } = JSON.parse(json.out) as StatusReport;
  expect(processes).toMatchObject([{ admin, error: "ECONNREFUSED" }]);
  expect((await command("status", "--admin", admin)).out).toContain(
    `${admin} is unreachable (ECONNREFUSED)`,
  );
  const { healthProblems } = await consolePoll(on);
  const texts = healthProblems.map(({ text }) => text);
  expect(texts).toContain(
    `${admin} is unreachable (ECONNREFUSED): its states and rates are missing.`,
  );
}
