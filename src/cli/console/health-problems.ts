/**
 * Troubles as sentences, the worst first.
 *
 *   bad                                          warn
 *   Kafka is away                                paused destinations
 *   a stage or destination halts at a damaged    a process runs another configuration, waits for a
 *     batch                                        restart or for topics, or cannot reach a broker
 *   a destination fails, or is held by its       a topic takes nothing
 *     endpoints                                  an endpoint fails while others accept
 *   a process cannot be reached                  deliveries of a tier are overdue
 *   an audience's state store cannot be used
 *   the configuration file is refused            no process is known
 *                                                something of Kafka may not be read
 */

import type { Trouble } from "../../console/view.ts";
import { ageText } from "../age.ts";
import { counted, percentText } from "../count.ts";
import { type DestinationReport, severityOf } from "../status/destinations.ts";
import { clockText } from "../status/notes.ts";
import type { HaltReport } from "../status/rates.ts";
import type { ProcessReport, StatusReport } from "../status/report.ts";

const NAMED_MAX = 4;
const OVERDUE_MS = 15_000;

export function troublesOf(report: StatusReport): readonly Trouble[] {
  const nowMs = Date.parse(report.at);
  const all = [
    ...kafkaTroubles(report),
    ...report.stages.flatMap(({ stage, halted: halts }) =>
      halts.map((halt) => halted(stage, halt)),
    ),
    ...destinationTroubles(report.destinations, nowMs),
    ...report.processes.flatMap(processTroubles),
    ...configurationTroubles(report),
    ...report.unknown.map((error) => warn(`Not everything is known: ${error}.`)),
    ...report.unwritableTopics.map(({ topic }) =>
      warn(`${topic} takes nothing: what belongs there waits or goes around it.`),
    ),
    ...report.delayTopics.flatMap(({ delay, dueInMs }) =>
      (dueInMs ?? 0) < -OVERDUE_MS
        ? [warn(`Deliveries in the tier ${delay} are overdue by ${ageText(-(dueInMs ?? 0))}.`)]
        : [],
    ),
  ];
  const isBad = ({ level }: Trouble) => level === "bad";
  return [...all.filter(isBad), ...all.filter((each) => !isBad(each))];
}

function kafkaTroubles({ kafkaError, processes }: StatusReport): readonly Trouble[] {
  if (kafkaError !== null) {
    const [first] = kafkaError.split("\n");
    return [bad(`Kafka is away: ${first}`, null)];
  }
  if (processes.length > 0) return [];
  return [
    warn(
      "No process is asked, so states, outcomes and rates are not known: name admin ports with --admin or console.adminAddresses.",
      "/configuration",
    ),
  ];
}

function destinationTroubles(
  destinations: readonly DestinationReport[],
  nowMs: number,
): readonly Trouble[] {
  const of = (rank: number) => destinations.filter((each) => severityOf(each) === rank);
  const [failing, partly, paused] = [of(1), of(2), of(3)];
  return [
    ...of(0).flatMap(({ destination, halted: halts }) =>
      halts.map((halt) => halted(destination, halt, address(destination))),
    ),
    ...failing
      .slice(0, NAMED_MAX)
      .map((each) => bad(failure(each, nowMs), address(each.destination))),
    ...rest(failing, "more fail", "bad"),
    ...partly
      .slice(0, NAMED_MAX)
      .map(({ destination }) =>
        warn(`${destination}: an endpoint fails, others accept.`, address(destination)),
      ),
    ...rest(partly, "more have an endpoint that fails", "warn"),
    ...(paused.length === 0
      ? []
      : [
          warn(
            `${counted(paused.length, "destination")} paused: their deliveries wait.`,
            "/destinations?q=paused",
          ),
        ]),
  ];
}

function failure(
  { destination, failingSince, failedShare, hold, last, waiting }: DestinationReport,
  nowMs: number,
) {
  const since = failingSince ?? hold?.since ?? null;
  const long = since === null ? "" : ` for ${ageText(Math.max(0, nowMs - Date.parse(since)))}`;
  const why = last === null || last.outcome === "accepted" ? "" : `: ${causeText(last.cause)}`;
  const left = hold === null ? "" : `; it is left alone (${hold.reason})`;
  const waits =
    (waiting ?? 0) === 0 ? "" : `, ${counted(waiting ?? 0, "delivery", "deliveries")} wait`;
  const verb = failingSince === null ? "is held" : "has been failing";
  const share =
    failingSince === null || failedShare === null
      ? ""
      : `, ${percentText(failedShare)} of attempts in the last minute`;
  return `${destination} ${verb}${long}${share}${why}${left}${waits}.`;
}

function causeText(cause: string): string {
  return /^\d{3}$/.test(cause) ? `it answers ${cause}` : `no answer (${cause})`;
}

function rest(all: readonly unknown[], words: string, level: Trouble["level"]): readonly Trouble[] {
  const left = all.length - NAMED_MAX;
  return left <= 0 ? [] : [{ level, text: `${left} ${words}.`, link: "/destinations" }];
}

function processTroubles(process: ProcessReport): readonly Trouble[] {
  const { admin, error, unreachableBrokers, configInvalidSince } = process;
  const { settingsToRestart, destinationsWaiting, stateStoresUnavailable } = process;
  const link = "/configuration";
  if (error !== null) return [bad(`The process ${admin} cannot be reached (${error}).`, link)];
  return [
    ...unreachableBrokers.map(({ broker }) =>
      warn(`${admin} gets no answer from the broker ${broker}.`, link),
    ),
    ...(configInvalidSince === null
      ? []
      : [bad(`${admin} refuses its configuration file and runs an earlier one.`, link)]),
    ...(stateStoresUnavailable > 0
      ? [bad(`${admin}: a state store cannot be used, and its audiences wait.`, "/audiences")]
      : []),
    ...processWarnings(process).map((text) => warn(text, link)),
    ...(settingsToRestart === 0
      ? []
      : [warn(`${admin}: ${counted(settingsToRestart, "setting")} count after a restart.`, link)]),
    ...(destinationsWaiting === 0
      ? []
      : [warn(`${admin}: ${counted(destinationsWaiting, "destination")} wait for topics.`, link)]),
  ];
}

function processWarnings({ admin, clockOffsetSeconds, routesMissing }: ProcessReport) {
  const clock = clockText(clockOffsetSeconds);
  const missing = counted(routesMissing, "destination");
  return [
    ...(clock === null ? [] : [`The clock of ${admin} is ${clock} the brokers' clock.`]),
    ...(routesMissing === 0
      ? []
      : [`Calls that ${admin} routes do not reach ${missing} that another process has.`]),
  ];
}

function configurationTroubles({ configHash, processes }: StatusReport): readonly Trouble[] {
  const known = processes.flatMap((each) => each.configHash ?? []);
  if (new Set(known).size > 1) {
    return [warn("The processes run different configurations.", "/configuration")];
  }
  const isOther = known.some((hash) => hash !== configHash);
  return isOther
    ? [warn("The processes run another configuration than the file.", "/configuration")]
    : [];
}

function halted(
  what: string,
  { topic, partition, offset }: HaltReport,
  link: string | null = null,
): Trouble {
  return bad(
    `${what} halts at a damaged batch: ${topic}, partition ${partition}, offset ${offset}.`,
    link,
  );
}

function address(destination: string): string {
  return `/destinations/${encodeURIComponent(destination)}`;
}

function bad(text: string, link: string | null): Trouble {
  return { level: "bad", text, link };
}

function warn(text: string, link: string | null = null): Trouble {
  return { level: "warn", text, link };
}
