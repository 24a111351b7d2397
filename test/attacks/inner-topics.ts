/**
 * Attacks by a user who may write to `delays.*` or `deliveries.*`. The headers of one record contain values that no
 * stage would write. The record must affect at most the destination of its topic, and a delay topic must not be
 * blocked.
 *
 *   destination of the product    here
 *   other                         accepts everything, and gets calls only from these attacks
 *   broken                        accepts nothing, so that its records await retry
 */

import { randomUUID } from "node:crypto";

import { DELIVERY_HEADER, type Delivery, deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId, MessageId, SourceId } from "../../src/domain/ids.ts";
import type { RecordHeader, RecordHeaders } from "../../src/domain/record.ts";
import { delayName } from "../../src/domain/topics.ts";
import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { until } from "./producers.ts";
import type { Product } from "./product.ts";

const OTHER = "other" as DestinationId;
const BROKEN = "broken" as DestinationId;
const YEAR_MS = 365 * 86_400_000;
/** A header from producers, which every stage passes on. */
const MARK = "attack-mark";
const CALL = Buffer.from('{"type":"track","event":"Attacked","userId":"u"}');

const ATTACKS: readonly ((product: Product) => Promise<AttackRow>)[] = [
  dueInAYear,
  returnToTheDelayTopic,
  returnToDeadLetters,
  delayedForNobody,
  delayedWithoutHeaders,
  ofAnotherDestination,
  firstAttemptedInAYear,
  notBeforeAYear,
  countedBeyondMeasure,
];

/** These attacks take only seconds, so there is no short form. */
export async function innerTopicAttacks(
  product: Product,
  _options: AttackOptions,
): Promise<AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const attack of ATTACKS) rows.push(await attack(product));
  return rows;
}

/** Writes a record that is due in a year to a shared delay topic, before an honest record. */
function dueInAYear(product: Product): Promise<AttackRow> {
  const headers = headersOf({ dueAtMs: Date.now() + YEAR_MS });
  return beforeAnHonestOne(product, "due in a year", headers, 2);
}

/** If it were returned to the delay topic, it would be due again immediately, without end. */
function returnToTheDelayTopic(product: Product): Promise<AttackRow> {
  const retryTopic = product.topics.delays(product.retryDelaysMs[0] ?? 0);
  const headers = headersOf({ dueAtMs: Date.now(), retryTopic });
  return beforeAnHonestOne(product, "returns to its own delay topic", headers, 2);
}

function returnToDeadLetters(product: Product): Promise<AttackRow> {
  const { deadLetters } = product.topics;
  const headers = headersOf({ dueAtMs: Date.now(), retryTopic: deadLetters });
  return beforeAnHonestOne(product, "returns to the dead letters", headers, 2);
}

function delayedForNobody(product: Product): Promise<AttackRow> {
  const destination = "nobody" as DestinationId;
  const headers = headersOf({ dueAtMs: Date.now(), destination });
  return beforeAnHonestOne(product, "delayed for an unknown destination", headers, 1);
}

function delayedWithoutHeaders(product: Product): Promise<AttackRow> {
  return beforeAnHonestOne(product, "delayed without headers", [], 1);
}

/** @param accepted the deliveries that must arrive, including the honest one. */
async function beforeAnHonestOne(
  product: Product,
  name: string,
  headers: RecordHeaders,
  accepted: number,
): Promise<AttackRow> {
  const topic = delayOf(product);
  const before = gotBy(product, OTHER);
  const mark: RecordHeader = [MARK, Buffer.from(randomUUID())];
  const startedAtMs = Date.now();
  const honest = headersOf({ dueAtMs: startedAtMs });
  const records = [headers, honest].map((each) => hostile([...each, mark]));
  await product.write(topic, records);
  const got = () => gotBy(product, OTHER) - before;
  const isOver = await until(() => got() >= accepted);
  const seconds = ((Date.now() - startedAtMs) / 1_000).toFixed(1);
  const isMarked = ([key, value]: RecordHeader) => key === MARK && value?.equals(mark[1] ?? CALL);
  const inDelayTopic = await product.recordsIn(topic);
  const times = inDelayTopic.filter((record) => record.headers.some(isMarked)).length;
  return {
    name,
    expected: `${accepted} delivered, the delay topic has had 2 records`,
    seen: `${got()} delivered in ${seconds} s, the delay topic has had ${times}`,
    ok: isOver && got() === accepted && times === 2,
  };
}

/** Writes a record to the topic of one destination that names another destination. */
async function ofAnotherDestination(product: Product): Promise<AttackRow> {
  const before = gotBy(product, OTHER);
  const scheduled = await scheduledOf(product, { destination: OTHER });
  const got = gotBy(product, OTHER) - before;
  const destination = scheduled?.get(DELIVERY_HEADER.destination) ?? "nothing";
  return {
    name: "names another destination",
    expected: `scheduled for retry for ${BROKEN}, ${OTHER} gets nothing`,
    seen: `scheduled for retry for ${destination}, ${OTHER} got ${got}`,
    ok: destination === BROKEN && got === 0,
  };
}

async function firstAttemptedInAYear(product: Product): Promise<AttackRow> {
  const firstAttemptAtMs = Date.now() + YEAR_MS;
  const scheduled = await scheduledOf(product, { attempt: 1, firstAttemptAtMs });
  const aheadMs = Number(scheduled?.get(DELIVERY_HEADER.firstAttemptAt)) - Date.now();
  return {
    name: "first attempted in a year",
    expected: "scheduled for retry with a retry window that began at the latest now",
    seen: `scheduled for retry with one that began ${-Math.round(aheadMs / 1_000)} s ago`,
    ok: aheadMs <= 0,
  };
}

async function notBeforeAYear(product: Product): Promise<AttackRow> {
  const given = { attempt: 1, firstAttemptAtMs: Date.now(), notBeforeMs: Date.now() + YEAR_MS };
  const scheduled = await scheduledOf(product, given);
  const aheadMs = Number(scheduled?.get(DELIVERY_HEADER.notBefore) ?? 0) - Date.now();
  return {
    name: "not before a year",
    expected: "scheduled for retry, and attempted again within four hours",
    seen: `scheduled for retry ${aheadMs > 0 ? `until in ${Math.round(aheadMs / 60_000)} minutes` : "as others"}`,
    ok: scheduled !== null && aheadMs <= 4 * 3_600_000,
  };
}

async function countedBeyondMeasure(product: Product): Promise<AttackRow> {
  const count = 999_999_999_999_999;
  const given = { attempt: count, retryCount: count, firstAttemptAtMs: Date.now() };
  const scheduled = await scheduledOf(product, given);
  const attempts = scheduled?.get(DELIVERY_HEADER.attempt) ?? "nothing";
  return {
    name: "counted beyond measure",
    expected: "scheduled for retry with at most 100,001 attempts",
    seen: `scheduled for retry with ${attempts}`,
    ok: Number(attempts) <= 100_001,
  };
}

/** Returns the headers of the broken destination's record in the delay topic; null if the record never got there. */
async function scheduledOf(
  product: Product,
  given: Partial<Delivery>,
): Promise<ReadonlyMap<string, string> | null> {
  const { recordsIn, retryDelaysMs } = product;
  const messageId = randomUUID() as MessageId;
  const headers = headersOf({ destination: BROKEN, messageId, ...given });
  await product.write(`deliveries.${BROKEN}`, [hostile(headers)]);
  let scheduled: ReadonlyMap<string, string> | null = null;
  await until(async () => {
    for (const delayMs of retryDelaysMs) {
      for (const record of await recordsIn(delayTopic(delayMs))) {
        const texts = new Map(record.headers.map(([name, value]) => [name, `${value}`]));
        if (texts.get(DELIVERY_HEADER.messageId) === messageId) scheduled ??= texts;
      }
    }
    return scheduled !== null;
  });
  return scheduled;
}

function gotBy({ endpoints }: Product, id: DestinationId): number {
  return endpoints.received.filter(({ destination }) => destination === id).length;
}

/** The first delay topic, without the prefix. */
function delayOf({ retryDelaysMs }: Product): string {
  return delayTopic(retryDelaysMs[0] ?? 0);
}

function delayTopic(delayMs: number): string {
  return `delays.${delayName(delayMs)}`;
}

/** All of these records have the same key, so that they are in one partition. */
function hostile(headers: RecordHeaders) {
  return { key: "attacked", value: CALL, headers };
}

function headersOf(given: Partial<Delivery>): RecordHeaders {
  return deliveryHeaders({
    messageId: randomUUID() as MessageId,
    source: "web" as SourceId,
    destination: OTHER,
    timestampMs: Date.now(),
    receivedAtMs: Date.now(),
    endpoint: null,
    attempt: 0,
    firstAttemptAtMs: null,
    retryCount: 0,
    dueAtMs: null,
    notBeforeMs: null,
    retryTopic: null,
    accepted: [],
    rejected: [],
    lastOutcome: null,
    userHash: null,
    ...given,
  });
}
