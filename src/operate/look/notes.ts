/** The notes below the tables: problems first, then why a value is unknown. */

import { skipCommand } from "../../domain/corrupt-batch.ts";
import { isWrongClock } from "../../runtime/broker-clock.ts";
import { counted } from "../../words/count.ts";
import { instantText } from "../connect/instant.ts";
import { countText } from "./columns.ts";
import type { HaltReport, UnwritableTopicReport } from "./rates.ts";
import type { ProcessReport, StatusReport } from "./report.ts";

export function notesOf(report: StatusReport): readonly string[] {
  const { stages, destinations, delayTopics, deadLetters, processes, kafkaError, notes } = report;
  return [
    ...(kafkaError === null ? [] : [`Kafka is unreachable: ${kafkaError}`]),
    ...stages.flatMap(({ stage, halted }) => halted.map((halt) => haltText(stage, halt))),
    ...destinations.flatMap(({ destination, halted }) =>
      halted.map((halt) => haltText(destination, halt)),
    ),
    ...hashNotes(report),
    ...processes.flatMap(brokerNotes),
    ...processes.flatMap(configurationNotes),
    ...processes.flatMap(storeNotes),
    ...processes.flatMap(clockNotes),
    ...processes.flatMap(routeNotes),
    ...report.unwritableTopics.map(blockedText),
    ...stages.flatMap(({ stage, note }) => (note === null ? [] : `${stage}: ${note}.`)),
    ...destinations.flatMap(({ destination, note }) =>
      note === null ? [] : `${destination}: ${note}.`,
    ),
    ...delayTopics.flatMap(({ delay, note }) => (note === null ? [] : `delay ${delay}: ${note}.`)),
    ...(notes.deadLetters === null ? [] : [`Dead letters: ${notes.deadLetters}.`]),
    ...(notes.deadLetters === null && deadLetters?.byReason === null
      ? ["Dead letters: too many to count by reason; see switchyard dead-letters list --since 1h."]
      : []),
    ...missingNotes(report),
  ];
}

/** Processes that could not be read, and why cells show `-`. */
function missingNotes({ processes, destinations, notes }: StatusReport): readonly string[] {
  const unreachable = processes.filter(({ error }) => error !== null);
  const isCounted = destinations.some(({ awaitingRetry }) => awaitingRetry !== null);
  return [
    ...unreachable.map(
      ({ admin, error }) => `${admin} is unreachable (${error}): its states and rates are missing.`,
    ),
    ...(processes.length === 0
      ? [
          "States, responses and rates come from the processes: give --admin HOST:PORT for each of them.",
        ]
      : []),
    ...(destinations.length > 0 && !isCounted && notes.awaitingRetry !== null
      ? [`AWAITING RETRY is unknown: ${notes.awaitingRetry}.`]
      : []),
    ...(destinations.length > 0 && !isCounted && notes.awaitingRetry === null
      ? [
          "AWAITING RETRY is unknown: there are too many records to count in Kafka. The processes that run the delay stage report it (--admin) once they have counted.",
        ]
      : []),
  ];
}

function hashNotes({ configHash, processes }: StatusReport): readonly string[] {
  const known = processes.filter((each) => each.configHash !== null);
  const page = "docs/change-configuration.md#different-hashes";
  const isDifferent = new Set(known.map((each) => each.configHash)).size > 1;
  const others = known.filter((each) => each.configHash !== configHash);
  return [
    ...(isDifferent ? [`The processes run different configurations: ${page}`] : []),
    ...others.map(
      ({ admin, configHash: hash }) =>
        `${admin} runs configuration ${hash}, but the file is ${configHash}: ${page}`,
    ),
  ];
}

function brokerNotes({ admin, unreachableBrokers }: ProcessReport): readonly string[] {
  return unreachableBrokers.map(({ broker, since }) => {
    const at = `${instantText(Date.parse(since))} UTC`;
    return `${admin} has been unable to reach broker ${broker} since ${at}.`;
  });
}

function storeNotes({ admin, stateStoresUnavailable }: ProcessReport): readonly string[] {
  if (!(stateStoresUnavailable > 0)) return [];
  const stores = counted(stateStoresUnavailable, "state store");
  return [
    `${admin}: ${stores} of the audience stage cannot be used, so their audiences are not processed. See /readyz for the error.`,
  ];
}

function clockNotes({ admin, clockOffsetSeconds }: ProcessReport): readonly string[] {
  const text = clockText(clockOffsetSeconds);
  return text === null
    ? []
    : [`The clock of ${admin} is ${text} the brokers' clock: docs/troubleshooting.md#clocks`];
}

/** How far the clock is off; null if it is correct, or if the difference is unknown. */
export function clockText(offsetSeconds: number | null): string | null {
  if (offsetSeconds === null || !isWrongClock(offsetSeconds * 1_000)) return null;
  const how = offsetSeconds > 0 ? "ahead of" : "behind";
  return `${Math.round(Math.abs(offsetSeconds))} s ${how}`;
}

function routeNotes({ admin, routesMissing }: ProcessReport): readonly string[] {
  if (routesMissing === 0) return [];
  const destinations = counted(routesMissing, "destination");
  return [
    `Calls that ${admin} routes do not reach ${destinations} that another process has. See /readyz for their names.`,
  ];
}

function haltText(what: string, { topic, partition, offset }: HaltReport): string {
  const where = `${topic}, partition ${partition}, offset ${offset}`;
  const command = skipCommand({ topic, partition, offset });
  return `${what}: halted at a corrupt batch in ${where}. Restore the batch, or skip it: ${command}`;
}

function configurationNotes(process: ProcessReport): readonly string[] {
  const { admin, configInvalidSince, settingsToRestart, destinationsWaiting } = process;
  const verb = (count: number) => (count === 1 ? "is" : "are");
  const notes: string[] = [];
  if (configInvalidSince !== null) {
    const since = `${instantText(Date.parse(configInvalidSince))} UTC`;
    notes.push(
      `The configuration file on ${admin} has been invalid since ${since}. The process still runs the previous configuration. See /readyz for the first problem.`,
    );
  }
  if (settingsToRestart > 0) {
    const settings = counted(settingsToRestart, "setting");
    notes.push(`${admin}: ${settings} ${verb(settingsToRestart)} waiting for a restart.`);
  }
  if (destinationsWaiting > 0) {
    const destinations = counted(destinationsWaiting, "destination");
    const their = destinationsWaiting === 1 ? "its" : "their";
    notes.push(
      `${admin}: ${destinations} ${verb(destinationsWaiting)} waiting for ${their} topics.`,
    );
  }
  return notes;
}

function blockedText({ topic, since, rerouted }: UnwritableTopicReport): string {
  const at = `${instantText(Date.parse(since))} UTC`;
  if (rerouted === null)
    return `Brokers have rejected writes to ${topic} since ${at}: its records are waiting.`;
  const were = rerouted === 1 ? "delivery was" : "deliveries were";
  return `Brokers have rejected writes to ${topic} since ${at}. ${countText(rerouted)} ${were} rerouted through a delay topic.`;
}
