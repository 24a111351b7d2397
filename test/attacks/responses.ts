/**
 * Attacks by responses: an endpoint responds to each request as `hostile-responses.ts` defines. Each response must lead
 * to the right outcome, and the honest destination must get its calls.
 */

import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { HOSTILE_RESPONSES, type HostileResponse } from "./hostile-responses.ts";
import { until } from "./producers.ts";
import type { Prepared, Product } from "./product.ts";
import { startHostileServer } from "./start-hostile-server.ts";

/** With this few calls, no circuit opens, which would keep calls away from the endpoint. */
const CALLS = 10;
/** One for each part of a response. */
const BRIEF = ["tiny-headers", "continues", "tiny-trailers", "blank-lines-in-bytes", "cut-short"];

/** Prepares an endpoint and a destination for each kind of response. */
export async function prepareResponses(): Promise<Prepared> {
  const server = await startHostileServer();
  return {
    destinations: () =>
      HOSTILE_RESPONSES.map(({ name }) => ({ id: name, url: `${server.plainUrl}/${name}` })),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export async function responseAttacks(
  product: Product,
  { isBrief }: AttackOptions,
): Promise<AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const response of HOSTILE_RESPONSES) {
    if (!isBrief || BRIEF.includes(response.name))
      rows.push(await attackByResponse(product, response));
  }
  return rows;
}

async function attackByResponse(product: Product, response: HostileResponse): Promise<AttackRow> {
  const { name, outcomes } = response;
  const labels = [...new Set(outcomes.map(labelOf))];
  const marker = `beside ${name}`;
  await sendCalls(product, name, marker);
  const seen = { all: 0, expected: 0, honest: 0 };
  const isOver = await until(async () => {
    // The part is read before the total, so that it cannot be larger than the total.
    const counts = await Promise.all(labels.map((label) => requests(product, name, label)));
    seen.expected = counts.reduce((sum, count) => sum + count, 0);
    seen.all = await requests(product, name);
    const { received } = product.endpoints;
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

/** Returns the label in the metric of requests. */
function labelOf(outcome: HostileResponse["outcomes"][number]): string {
  return typeof outcome === "number" ? `${Math.floor(outcome / 100)}xx` : outcome;
}

function requests({ metric }: Product, destination: string, outcome = ""): Promise<number> {
  const of = `destination="${destination}",outcome="${outcome}`;
  return metric("switchyard_delivery_requests_total", of);
}

/** Sends calls to the hostile destination, and as many to the honest one. */
async function sendCalls({ write }: Product, name: string, marker: string) {
  const records = Array.from({ length: CALLS }, (_, at) => {
    // The calls are from different users, so that they are sent concurrently.
    const call = { type: "track", event: "Attacked", userId: `u-${at}` };
    const hostile = { ...call, integrations: { All: false, [name]: true } };
    const toAll = { All: false, Webhooks: true };
    const honest = { ...call, messageId: `${marker} ${at}`, integrations: toAll };
    return [hostile, honest].map((value) => ({ key: call.userId, value }));
  });
  await write("calls", records.flat());
}
