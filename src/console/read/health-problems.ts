/**
 * Health problems as sentences, the worst first.
 *
 *   bad                                            warn
 *   Kafka is unreachable                           paused destinations
 *   a stage or destination is halted at a          a process runs another configuration, needs a restart
 *     corrupt batch                                  or topics, or cannot reach a broker
 *   a destination is failing or on hold because    a topic is not writable
 *     of its endpoints                             one of several endpoints is failing
 *   a process is unreachable                       deliveries in a delay topic are overdue
 *   the state store of an audience is unusable     no processes are known
 *   the configuration file is invalid              permissions to read from Kafka are missing
 */

import type { HoldReason } from "../../domain/destination-status.ts";
import { type DestinationReport, severityOf } from "../../operate/look/destinations.ts";
import { clockText } from "../../operate/look/notes.ts";
import type { HaltReport } from "../../operate/look/rates.ts";
import type { ProcessReport, StatusReport } from "../../operate/look/report.ts";
import { ageText } from "../../words/age.ts";
import { counted, percentText } from "../../words/count.ts";
import type { HealthProblem } from "../view.ts";

const NAMED_MAX = 4;
const OVERDUE_MS = 15_000;

export function healthProblemsOf(report: StatusReport): readonly HealthProblem[] {
  const nowMs = Date.parse(report.at);
  const all = [
    ...kafkaProblems(report),
    ...report.stages.flatMap(({ stage, halted: halts }) =>
      halts.map((halt) => halted(stage, halt)),
    ),
    ...destinationProblems(report.destinations, nowMs),
    ...report.processes.flatMap(processProblems),
    ...configurationProblems(report),
    ...report.unknown.map((error) => warn(`Incomplete: ${error}.`)),
    ...report.unwritableTopics.map(({ topic }) =>
      warn(`Brokers reject writes to ${topic}: its records wait or are rerouted.`),
    ),
    ...report.delayTopics.flatMap(({ delay, dueInMs }) =>
      (dueInMs ?? 0) < -OVERDUE_MS
        ? [
            warn(
              `Deliveries in the ${delay} delay topic are overdue by ${ageText(-(dueInMs ?? 0))}.`,
            ),
          ]
        : [],
    ),
  ];
  const isBad = ({ level }: HealthProblem) => level === "bad";
  return [...all.filter(isBad), ...all.filter((each) => !isBad(each))];
}

function kafkaProblems({ kafkaError, processes }: StatusReport): readonly HealthProblem[] {
  if (kafkaError !== null) {
    const [first] = kafkaError.split("\n");
    return [bad(`Kafka is unreachable: ${first}`, null)];
  }
  if (processes.length > 0) return [];
  return [
    warn(
      "No processes are known, so states, responses and rates are unknown. Set their admin addresses with --admin or in console.adminAddresses.",
      "/configuration",
    ),
  ];
}

function destinationProblems(
  destinations: readonly DestinationReport[],
  nowMs: number,
): readonly HealthProblem[] {
  const of = (severity: number) => destinations.filter((each) => severityOf(each) === severity);
  const [failing, partly, paused] = [of(1), of(2), of(3)];
  return [
    ...of(0).flatMap(({ destination, halted: halts }) =>
      halts.map((halt) => halted(destination, halt, address(destination))),
    ),
    ...failing
      .slice(0, NAMED_MAX)
      .map((each) => bad(failure(each, nowMs), address(each.destination))),
    ...rest(failing, "more destinations are failing", "bad"),
    ...partly
      .slice(0, NAMED_MAX)
      .map(({ destination }) =>
        warn(`An endpoint of ${destination} is failing, but others accept.`, address(destination)),
      ),
    ...rest(partly, "more destinations have a failing endpoint", "warn"),
    ...(paused.length === 0
      ? []
      : [
          warn(
            `${counted(paused.length, "destination")} paused. New deliveries stay in the queue.`,
            "/destinations?q=paused",
          ),
        ]),
  ];
}

function failure(
  { destination, failingSince, failedShare, hold, last, waiting }: DestinationReport,
  nowMs: number,
): string {
  const since = failingSince ?? hold?.since ?? null;
  const verb = `has been ${failingSince === null ? "on hold" : "failing"}`;
  const long = since === null ? "" : ` for ${ageText(Math.max(0, nowMs - Date.parse(since)))}`;
  const share =
    failingSince === null || failedShare === null
      ? ""
      : ` (${percentText(failedShare)} of attempts in the last minute)`;
  const response =
    last === null || last.outcome === "accepted" ? "" : ` ${responseText(last.cause)}.`;
  const onHold =
    hold === null || (failingSince === null && hold.reason !== "token") ? "" : ` ${holdText(hold)}`;
  const queued = waiting ?? 0;
  const backlog =
    queued === 0
      ? ""
      : ` ${counted(queued, "delivery", "deliveries")} ${queued === 1 ? "is" : "are"} queued.`;
  return `${destination} ${verb}${long}${share}.${response}${onHold}${backlog}`;
}

function holdText({ reason, error }: NonNullable<DestinationReport["hold"]>): string {
  if (error !== undefined) return `${error}.`;
  return `It is on hold: ${reasonText(reason)}.`;
}

function reasonText(reason: HoldReason): string {
  if (reason === "token") return "there is no token for its requests";
  return reason === "retry-after" ? "it sent Retry-After" : "its circuit is open";
}

function responseText(cause: string): string {
  return /^\d{3}$/.test(cause) ? `Last response: ${cause}` : `No response: ${cause}`;
}

function rest(
  all: readonly unknown[],
  words: string,
  level: HealthProblem["level"],
): readonly HealthProblem[] {
  const left = all.length - NAMED_MAX;
  return left <= 0 ? [] : [{ level, text: `${left} ${words}.`, link: "/destinations" }];
}

function processProblems(process: ProcessReport): readonly HealthProblem[] {
  const { admin, error, unreachableBrokers, configInvalidSince } = process;
  const { settingsToRestart, destinationsWaiting, stateStoresUnavailable } = process;
  const link = "/configuration";
  if (error !== null) return [bad(`${admin} is unreachable (${error}).`, link)];
  return [
    ...unreachableBrokers.map(({ broker }) =>
      warn(`${admin} cannot reach the broker ${broker}.`, link),
    ),
    ...(configInvalidSince === null
      ? []
      : [bad(`The configuration file of ${admin} is invalid, so it runs an earlier one.`, link)]),
    ...(stateStoresUnavailable > 0
      ? [bad(`A state store of ${admin} is unusable, so its audiences wait.`, "/audiences")]
      : []),
    ...processWarnings(process).map((text) => warn(text, link)),
    ...(settingsToRestart === 0
      ? []
      : [warn(`${counted(settingsToRestart, "setting")} of ${admin} pending a restart.`, link)]),
    ...(destinationsWaiting === 0
      ? []
      : [warn(`${counted(destinationsWaiting, "destination")} of ${admin} pending topics.`, link)]),
  ];
}

function processWarnings({ admin, clockOffsetSeconds, routesMissing }: ProcessReport) {
  const clock = clockText(clockOffsetSeconds);
  const missing = counted(routesMissing, "destination");
  return [
    ...(clock === null ? [] : [`The clock of ${admin} is ${clock} the brokers' clock.`]),
    ...(routesMissing === 0
      ? []
      : [`Calls routed by ${admin} do not reach ${missing} of another process.`]),
  ];
}

function configurationProblems({ configHash, processes }: StatusReport): readonly HealthProblem[] {
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
): HealthProblem {
  return bad(
    `${what} is halted at a corrupt batch: ${topic}, partition ${partition}, offset ${offset}.`,
    link,
  );
}

function address(destination: string): string {
  return `/destinations/${encodeURIComponent(destination)}`;
}

function bad(text: string, link: string | null): HealthProblem {
  return { level: "bad", text, link };
}

function warn(text: string, link: string | null = null): HealthProblem {
  return { level: "warn", text, link };
}
