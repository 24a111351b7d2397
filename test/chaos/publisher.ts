/** Publishes calls continuously. There are only a few users, so that keys repeat, and some values are not calls. */

import { setTimeout as sleep } from "node:timers/promises";

import type { OutgoingRecord } from "../../src/domain/record.ts";
import type { Producer } from "../../src/kafka/port.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { Journal, SentCall } from "./journal.ts";
import { topics } from "./setup.ts";

const USERS = 20;

/**
 * Publishes until the signal aborts. Resolves when the last call is acknowledged.
 *
 * @param mayGoOn awaited before each call.
 */
export async function publish(
  producer: Producer,
  journal: Journal,
  random: Prng,
  stop: AbortSignal,
  mayGoOn: () => Promise<void>,
): Promise<void> {
  let count = 0;
  while (!stop.aborted) {
    await mayGoOn();
    const calls: SentCall[] = [];
    for (let left = random.integer(1, 6); left > 0; left -= 1) {
      count += 1;
      const user = `u${random.integer(1, USERS)}`;
      calls.push({ messageId: `m${count}`, user, atMs: Date.now() });
    }
    const records = calls.map(callRecord);
    if (random.chance(0.02)) {
      const key = `poison-${count}`;
      journal.poison.add(key);
      records.push(record(key, random.pick(["no call", '{"type":"track"}', "[]"])));
    }
    // The call is added before the write, so that no request arrives for an unknown call.
    for (const call of calls) journal.sent(call);
    await producer.send(records);
    await sleep(random.integer(20, 220));
  }
}

function callRecord({ messageId, user }: SentCall): OutgoingRecord {
  const call = { type: "track", messageId, userId: user, event: "Order Completed" };
  return record(user, JSON.stringify({ ...call, properties: { total: 42.5 } }));
}

function record(key: string, value: string): OutgoingRecord {
  return { topic: topics.calls, key: Buffer.from(key), value: Buffer.from(value), headers: [] };
}
