/**
 * Attacks by answers: an endpoint answers each request as `hostile-answers.ts` says. Each must come
 * to the right outcome, and the honest destination must get its calls.
 */

import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { HOSTILE_ANSWERS, type HostileAnswer } from "./hostile-answers.ts";
import { until } from "./producers.ts";
import type { MoreDestination, Product } from "./product.ts";
import { startHostileServer } from "./start-hostile-server.ts";

/** Too few for a breaker: it would keep calls from the endpoint. */
const CALLS = 10;
/** One of each part of an answer. */
const BRIEF = ["tiny-headers", "continues", "tiny-trailers", "blank-lines-in-bytes", "cut-short"];

interface Prepared extends AsyncDisposable {
  readonly destinations: () => readonly MoreDestination[];
}

/** An endpoint and a destination for each kind of answer. */
export async function prepareAnswers(): Promise<Prepared> {
  const server = await startHostileServer();
  return {
    destinations: () =>
      HOSTILE_ANSWERS.map(({ name }) => ({ id: name, url: `${server.plainUrl}/${name}` })),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export async function answerAttacks(
  product: Product,
  { isBrief }: AttackOptions,
): Promise<AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const answer of HOSTILE_ANSWERS) {
    if (!isBrief || BRIEF.includes(answer.name)) rows.push(await attackByAnswer(product, answer));
  }
  return rows;
}

async function attackByAnswer(product: Product, answer: HostileAnswer): Promise<AttackRow> {
  const { name, outcomes } = answer;
  const labels = [...new Set(outcomes.map(labelOf))];
  const marker = `beside ${name}`;
  await sendCalls(product, name, marker);
  const seen = { all: 0, expected: 0, honest: 0 };
  const isOver = await until(async () => {
    // First the part, so that it is no more than all.
    const counts = await Promise.all(labels.map((label) => requests(product, name, label)));
    seen.expected = counts.reduce((sum, count) => sum + count, 0);
    seen.all = await requests(product, name);
    const { received } = product.receiver;
    seen.honest = received.filter(({ messageId }) => messageId.startsWith(marker)).length;
    return seen.expected >= CALLS && seen.honest >= CALLS;
  });
  return {
    name,
    expected: `${CALLS} times ${labels.join(" or ")}, ${CALLS} honest calls beside`,
    seen: `${seen.expected} of ${seen.all} so, ${seen.honest} beside`,
    ok: isOver && seen.expected === seen.all && product.isAlive(),
  };
}

/** As the metric of requests has it. */
function labelOf(outcome: HostileAnswer["outcomes"][number]): string {
  return typeof outcome === "number" ? `${Math.floor(outcome / 100)}xx` : outcome;
}

function requests({ metric }: Product, destination: string, outcome = ""): Promise<number> {
  const of = `destination="${destination}",outcome="${outcome}`;
  return metric("switchyard_delivery_requests_total", of);
}

/** Calls for the hostile destination, and as many for the honest one. */
async function sendCalls({ producer, topics }: Product, name: string, marker: string) {
  const records = Array.from({ length: CALLS }, (_, at) => {
    const call = { type: "track", event: "Attacked", userId: `u-${at}` };
    const hostile = { ...call, integrations: { All: false, [name]: true } };
    const honest = {
      ...{ ...call, messageId: `${marker} ${at}` },
      integrations: { All: false, Webhooks: true },
    };
    return [hostile, honest].map((each) => ({
      topic: topics.calls,
      // Of different users, so that they go out side by side.
      key: Buffer.from(call.userId),
      value: Buffer.from(JSON.stringify(each)),
      headers: [],
    }));
  });
  await producer.send(records.flat());
}
