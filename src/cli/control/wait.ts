/**
 * Waits until nothing is left for a destination of what there was when it began: in its line, among
 * its returns, in tiers.
 *
 *   a delivery moves        is not missed, since
 *   from line to tier       tiers are read after the line
 *   from tier to returns    returns that came while the tiers were read are read after them
 *   from returns to tier    returns are read before the tiers
 *
 * A delivery that was received later is not waited for. A record counts as left until a
 * commit says that it is finished, which takes some seconds.
 */

import { isOver, type KnownOperatorActions } from "../../domain/operator-action-state.ts";
import { partBelow, partFrom, recordsIn } from "../../kafka/uncommitted-ranges.ts";
import { configuredTopics } from "../connection.ts";
import {
  eachInTiers,
  eachOf,
  type Looking,
  lineParts,
  readOperatorActions,
  retryTopicParts,
} from "./remaining.ts";

export interface Left {
  readonly line: number;
  readonly retries: number;
  readonly tiers: number;
}

export interface Beginning {
  readonly atMs: number;
  /** Of the line, by partition. */
  readonly ends: ReadonlyMap<number, number>;
}

export async function beginning(
  { kafka, config, destination }: Looking,
  nowMs: number,
): Promise<Beginning> {
  const topic = configuredTopics(config).deliveries(destination);
  const offsets = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  return { atMs: nowMs, ends: new Map(offsets.map(({ partition, end }) => [partition, end])) };
}

export async function leftOf(looking: Looking, { atMs, ends }: Beginning): Promise<Left> {
  const operations: KnownOperatorActions = await readOperatorActions(looking, looking.signal);
  const parts = (await lineParts(looking)).map((part) =>
    partBelow(part, ends.get(part.partition) ?? 0),
  );
  let retries = 0;
  let tiers = 0;
  const isOld = (delivery: { readonly receivedAtMs: number }) => delivery.receivedAtMs < atMs;
  const before = await retryTopicParts(looking);
  const countReturn = (delivery: { readonly receivedAtMs: number }) => {
    if (isOld(delivery)) retries += 1;
  };
  await eachOf(looking, before, countReturn);
  await eachInTiers(looking, operations, (delivery) => {
    if (isOld(delivery)) tiers += 1;
  });
  const readTo = new Map(before.map(({ partition, to }) => [partition, to]));
  const after = (await retryTopicParts(looking)).map((part) =>
    partFrom(part, readTo.get(part.partition) ?? part.from),
  );
  await eachOf(
    looking,
    after.filter(({ from, to }) => from < to),
    countReturn,
  );
  return { line: recordsIn(parts), retries, tiers };
}

export function sumOf({ line, retries, tiers }: Left): number {
  return line + retries + tiers;
}

export function leftText(left: Left): string {
  const { line, retries, tiers } = left;
  return `${sumOf(left).toLocaleString("en")} left: ${line} in its line, ${retries} due again, ${tiers} in tiers`;
}

/** Why nothing leaves; null: it does. */
export async function stillText(looking: Looking, nowMs: number): Promise<string | null> {
  const { config, destination, signal } = looking;
  const configured = config.destinations.find(({ id }) => id === destination);
  if (configured?.enabled === false) return `${destination} is disabled by the configuration`;
  if (configured?.kind === "webhook" && configured.paused) {
    return `${destination} is paused by the configuration`;
  }
  const operations = await readOperatorActions(looking, signal);
  const pause = operations.pauseOf(destination, nowMs);
  if (pause === null || isOver(pause, nowMs)) return null;
  return `${destination} is paused by ${pause.by}: \`switchyard resume ${destination}\` ends it`;
}
