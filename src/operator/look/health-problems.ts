/**
 * Finds the health problems in a `Picture`, in the order in which `status` and the console show them: the worst
 * first.
 *
 *   bad                                            warn
 *   Kafka is unreachable                           one of several endpoints is failing *
 *   a stage or destination is halted at a          destinations are paused *
 *     corrupt batch                                a process cannot reach a broker, waits for a restart or for topics,
 *   a destination is failing, or is on hold          has a wrong clock, or does not route to a destination to which
 *     because of its endpoints or its token *        another process routes
 *   a process is unreachable, has an invalid       no processes are known, or their configurations differ
 *     configuration file, or cannot use a state    a part of Kafka could not be read *
 *     store                                        a topic is not writable
 *   records were deleted before they were processed
 *                                                  deliveries in a delay topic are overdue *
 *
 * The tables of `status` already show the problems marked with *, so `status` does not repeat them below the tables.
 */

import { wrongClockText } from "../../base/runtime/broker-clock.ts";
import { ageText, counted, failedShareText } from "../../base/words/count.ts";
import { HOLD_TEXTS } from "../../base/words/reasons.ts";
import { skipCommand } from "../../domain/corrupt-batch.ts";
import { lostText } from "../../domain/lost-records.ts";
import type { RecordPlace } from "../../domain/record.ts";
import { instantText } from "../connect/instant.ts";
import { countText } from "./destination-text.ts";
import {
  type DelayTopicReport,
  type DestinationReport,
  type HealthProblem,
  type ProcessReport,
  type StatusReport,
  severityOf,
  type UnwritableTopicReport,
} from "./status-report.ts";

const NAMED_MAX = 4;
const OVERDUE_MS = 15_000;

const CONFIGURATION = "/configuration";
const HASHES_PAGE = "docs/change-configuration.md#different-hashes";
const CLOCKS_PAGE = "docs/troubleshooting.md#clocks";

export function healthProblemsOf(report: StatusReport): readonly HealthProblem[] {
  const nowMs = Date.parse(report.at);
  const all = [
    ...kafkaProblems(report),
    ...report.stages.flatMap(({ stage, halted }) => halted.map((halt) => haltProblem(stage, halt))),
    ...destinationProblems(report.destinations, nowMs),
    ...report.processes.flatMap(processProblems),
    ...configurationProblems(report),
    ...report.unknown.map((error) => inTables(warn(`Incomplete: ${error}.`))),
    ...report.recordsLost.map((lost) =>
      bad(
        lostText(lost, lost.destination ?? ""),
        lost.destination === null ? null : address(lost.destination),
      ),
    ),
    ...report.unwritableTopics.map((topic) => warn(unwritableText(topic))),
    ...report.delayTopics.filter(isOverdue).map((topic) => inTables(warn(overdueText(topic)))),
  ];
  const isBad = ({ level }: HealthProblem) => level === "bad";
  return [...all.filter(isBad), ...all.filter((each) => !isBad(each))];
}

function kafkaProblems({ kafkaError }: StatusReport): readonly HealthProblem[] {
  if (kafkaError === null) return [];
  const [first] = kafkaError.split("\n");
  return [bad(`Kafka is unreachable: ${first}`)];
}

function destinationProblems(
  destinations: readonly DestinationReport[],
  nowMs: number,
): readonly HealthProblem[] {
  const of = (severity: number) => destinations.filter((each) => severityOf(each) === severity);
  const paused = of(3);
  return [
    ...of(0).flatMap(({ destination, halted }) =>
      halted.map((halt) => haltProblem(destination, halt, address(destination))),
    ),
    ...[
      ...named(of(1), "more destinations are failing.", "/destinations", (each) =>
        bad(failure(each, nowMs), address(each.destination)),
      ),
      ...named(
        of(2),
        "more destinations have a failing endpoint.",
        "/destinations",
        ({ destination, endpoints }) => {
          const isGone = endpoints.some(({ unavailable }) => unavailable?.reason === "gone");
          return warn(
            `An endpoint of ${destination} is ${isGone ? "gone (410)" : "failing"}, but other endpoints accept deliveries.`,
            address(destination),
          );
        },
      ),
      ...(paused.length === 0
        ? []
        : [
            warn(
              `${counted(paused.length, "destination")} ${paused.length === 1 ? "is" : "are"} paused. New deliveries stay in the queue.`,
              "/destinations?q=paused",
            ),
          ]),
    ].map(inTables),
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
    failingSince === null || failedShare === null ? "" : ` (${failedShareText(failedShare)})`;
  const response =
    last === null || last.outcome === "accepted" ? "" : ` ${responseText(last.cause)}.`;
  const onHold =
    hold === null || (failingSince === null && isByResponses(hold)) ? "" : ` ${holdText(hold)}`;
  const queued = waiting ?? 0;
  const backlog =
    queued === 0 ? "" : ` ${counted(queued, "delivery", "deliveries")} ${are(queued)} queued.`;
  return `${destination} ${verb}${long}${share}.${response}${onHold}${backlog}`;
}

/** True if the last response already shows why the destination is on hold. */
function isByResponses({ reason }: NonNullable<DestinationReport["hold"]>): boolean {
  return reason === "circuit-open" || reason === "retry-after";
}

function holdText({ reason, error }: NonNullable<DestinationReport["hold"]>): string {
  return error === undefined ? `It is on hold: ${HOLD_TEXTS[reason]}.` : `${error}.`;
}

function responseText(cause: string): string {
  return /^\d{3}$/.test(cause) ? `Last response: ${cause}` : `No response: ${cause}`;
}

function processProblems(process: ProcessReport): readonly HealthProblem[] {
  const { admin, error, unreachableBrokers, configInvalidSince, clockOffsetSeconds } = process;
  const { settingsToRestart, destinationsWaiting, stateStoresUnavailable, routesMissing } = process;
  const clock = wrongClockText(clockOffsetSeconds === null ? null : clockOffsetSeconds * 1_000);
  const stores = counted(stateStoresUnavailable, "state store");
  const routes = counted(routesMissing, "destination");
  const settings = `${counted(settingsToRestart, "setting")} ${are(settingsToRestart)}`;
  const waiting = `${counted(destinationsWaiting, "destination")} ${are(destinationsWaiting)}`;
  const rows: readonly (HealthProblem | null)[] = [
    error === null
      ? null
      : bad(`${admin} is unreachable (${error}): its states and rates are missing.`, CONFIGURATION),
    ...unreachableBrokers.map(({ broker, since }) =>
      warn(
        `${admin} has been unable to reach broker ${broker} since ${utc(since)}.`,
        CONFIGURATION,
      ),
    ),
    configInvalidSince === null
      ? null
      : bad(
          `The configuration file on ${admin} has been invalid since ${utc(configInvalidSince)}. The process still runs the previous configuration. See /readyz for the first problem.`,
          CONFIGURATION,
        ),
    settingsToRestart === 0
      ? null
      : warn(`${admin}: ${settings} waiting for a restart.`, CONFIGURATION),
    destinationsWaiting === 0
      ? null
      : warn(
          `${admin}: ${waiting} waiting for ${destinationsWaiting === 1 ? "its" : "their"} topics.`,
          CONFIGURATION,
        ),
    stateStoresUnavailable === 0
      ? null
      : bad(
          `${admin}: ${stores} of the audience stage cannot be used, so some audiences are not processed. See /readyz for the error.`,
          "/audiences",
        ),
    clock === null
      ? null
      : warn(`The clock of ${admin} is ${clock}: ${CLOCKS_PAGE}`, CONFIGURATION),
    routesMissing === 0
      ? null
      : warn(
          `${admin} does not route calls to ${routes} to which another process routes calls. ` +
            `See /readyz for the names.`,
          CONFIGURATION,
        ),
  ];
  return rows.filter((row) => row !== null);
}

function configurationProblems({ configHash, processes }: StatusReport): readonly HealthProblem[] {
  if (processes.length === 0) {
    return [
      warn(
        "No processes are known, so states, responses and rates are unknown. Give the address of each admin port with --admin HOST:PORT, or in console.adminAddresses.",
        CONFIGURATION,
      ),
    ];
  }
  const known = processes.filter((each) => each.configHash !== null);
  const isDifferent = new Set(known.map((each) => each.configHash)).size > 1;
  const others = configHash === "" ? [] : known.filter((each) => each.configHash !== configHash);
  return [
    ...(isDifferent
      ? [warn(`The processes run different configurations: ${HASHES_PAGE}`, CONFIGURATION)]
      : []),
    ...named(
      others,
      `more processes run a configuration that differs from the file: ${HASHES_PAGE}`,
      CONFIGURATION,
      ({ admin, configHash: hash }) =>
        warn(
          `${admin} runs configuration ${hash}, but the file is ${configHash}: ${HASHES_PAGE}`,
          CONFIGURATION,
        ),
    ),
  ];
}

function haltProblem(
  what: string,
  { topic, partition, offset }: RecordPlace,
  link: string | null = null,
): HealthProblem {
  const where = `${topic}, partition ${partition}, offset ${offset}`;
  const command = skipCommand({ topic, partition, offset });
  return bad(
    `${what} is halted at a corrupt batch in ${where}. Restore the batch, or skip it: ${command}`,
    link,
  );
}

function unwritableText({ topic, since, rerouted }: UnwritableTopicReport): string {
  const text = `Brokers have rejected writes to ${topic} since ${utc(since)}`;
  if (rerouted === null) return `${text}: its records are waiting.`;
  const were = rerouted === 1 ? "delivery was" : "deliveries were";
  return `${text}. ${countText(rerouted)} ${were} rerouted through a delay topic.`;
}

function isOverdue({ dueInMs }: DelayTopicReport): boolean {
  return (dueInMs ?? 0) < -OVERDUE_MS;
}

function overdueText({ delay, dueInMs }: DelayTopicReport): string {
  return `Deliveries in the ${delay} delay topic are overdue by ${ageText(-(dueInMs ?? 0))}.`;
}

/** Names the first few items, and counts the others. */
function named<Each>(
  all: readonly Each[],
  others: string,
  link: string,
  problemOf: (each: Each) => HealthProblem,
): readonly HealthProblem[] {
  const [first] = all;
  const left = all.length - NAMED_MAX;
  const shown = all.slice(0, NAMED_MAX).map(problemOf);
  if (first === undefined || left <= 0) return shown;
  return [...shown, { ...problemOf(first), text: `${left} ${others}`, link }];
}

function are(count: number): "is" | "are" {
  return count === 1 ? "is" : "are";
}

function utc(at: string): string {
  return `${instantText(Date.parse(at))} UTC`;
}

function address(destination: string): string {
  return `/destinations/${encodeURIComponent(destination)}`;
}

function inTables(problem: HealthProblem): HealthProblem {
  return { ...problem, isInTables: true };
}

function bad(text: string, link: string | null = null): HealthProblem {
  return { level: "bad", text, link, isInTables: false };
}

function warn(text: string, link: string | null = null): HealthProblem {
  return { level: "warn", text, link, isInTables: false };
}
