/**
 * Keeps what an owner of a partition knows about blocked users, and measures its memory. Each has a call that is retried
 * and one that waits. This is a separate process, so that its memory can be measured.
 *
 *   node --expose-gc bench/order-work.ts <blocked users>
 */

import { Facts, orderKey } from "../src/router/order/facts.ts";
import { type KeyState, restored } from "../src/router/order/key-order.ts";

const users = Number(process.argv[2]);

function memoryMb(): number {
  for (let times = 0; times < 4; times += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}

const beforeMb = memoryMb();
const facts = new Facts();
for (let at = 0; at < users; at += 1) {
  const key = orderKey({ key: Buffer.from(`user-${at}`) }) ?? "";
  facts.apply({ kind: "retry", key, offset: 2 * at }, true);
  facts.apply({ kind: "wait", key, offset: 2 * at + 1 }, true);
}
const states = new Map<string, KeyState>();
for (const key of facts.keys()) states.set(key, restored(facts.known(key)));
const usedMb = memoryMb() - beforeMb;
if (states.size !== users || [...facts.keys()].length !== users)
  throw new Error("a user is missing");
process.stdout.write(`${JSON.stringify({ usedMb })}\n`);
