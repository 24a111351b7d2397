// From the rejection by the endpoint to the dead letter, and from there back to the endpoint.

import { expect, test } from "vitest";
import type { MessageId } from "../../../../src/domain/ids.ts";
import { EVERY_DEAD_LETTER } from "../../../../src/operator/replay/dead-letter-record.ts";
import { deadLetterRules } from "../../../../src/operator/replay/dead-letter-replay.ts";
import { readMarks } from "../../../../src/operator/replay/read-dead-letters.ts";
import { sendReplay } from "../../../../src/operator/replay/replay.ts";
import { rangesOf } from "../../../../src/operator/replay/replay-store.ts";
import { openReplay } from "../../../../src/operator/replay/run-replay.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS, topics } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const URL_A = "http://a.test/";
const URL_B = "http://b.test/";

async function flow(
  respond: (url: string) => ScriptedResponse,
  given: Parameters<typeof webhookDestination>[0] = {},
) {
  const destination = webhookDestination({ urls: [URL_A, URL_B], ...given });
  const world = new DeliverWorld({
    destinations: [destination],
    respond: ({ url }) => respond(url),
  });
  world.cluster.createTopic(topics.deadLetterReplays, 1);
  await world.startDeliver();
  await world.startDelay();
  const replayAll = async () => {
    const { kafka, clock } = world;
    const source = { kafka, topics, signal: new AbortController().signal };
    const plan = { filter: EVERY_DEAD_LETTER, limit: null, perSecond: null };
    const work = async () => {
      const replay = await openReplay({ ...source, hasLedger: true, clock }, "dead-letters", {
        kind: "new",
        plan,
      });
      if (replay === null) throw new Error("a new replay always exists");
      const marks = await readMarks(source, rangesOf(replay.stored));
      const rules = deadLetterRules(replay, { topics, destinations: [destination], marks });
      return sendReplay(replay, rules, kafka.producer(), {
        onProgress: () => undefined,
        onWaiting: () => undefined,
        onRefused: (why: string) => {
          throw new Error(why);
        },
      });
    };
    const running = work();
    await world.settle(10_000);
    expect(await running).toBe("done");
  };
  return { world, replayAll };
}

test("an expired delivery gets a new window of attempts with the same bytes", async () => {
  let status = 503;
  const { world, replayAll } = await flow(() => status, { urls: [URL_A] });
  world.append({ messageId: "m-1" as MessageId });
  await world.settle(5 * HOUR_MS);
  const attempts = world.http.sent.length;
  expect(world.deadLetters()).toMatchObject([{ "switchyard-reason": "expired" }]);

  await replayAll();
  await world.settle(5 * HOUR_MS);
  const deadLetters = world.deadLetters();
  expect(deadLetters).toHaveLength(2);
  const windows = deadLetters.map((deadLetter) =>
    Number(deadLetter["switchyard-first-attempt-at"]),
  );
  expect((windows[1] ?? 0) - (windows[0] ?? 0)).toBeGreaterThan(4 * HOUR_MS);
  const repeated = world.http.sent.length - attempts;
  expect(repeated).toBeGreaterThan(1);

  status = 200;
  // The first dead letter was replayed. The second one is for the same delivery.
  await replayAll();
  await world.settle(5 * HOUR_MS);
  expect(world.http.sent).toHaveLength(attempts + repeated + 1);
  expect(world.deadLetters()).toHaveLength(2);
  const bodies = world.http.sent.map(({ body, headers }) => `${body} ${headers["x-signature"]}`);
  expect(new Set(bodies).size).toBe(1);
});

test("with deliver: every, only the endpoint that failed is requested again", async () => {
  let status = 404;
  const { world, replayAll } = await flow((url) => (url === URL_A ? 200 : status), {
    deliver: "every",
  });
  world.append();
  await world.settle(10_000);
  expect(world.http.sent.map(({ url }) => url).toSorted()).toEqual([URL_A, URL_B]);
  status = 200;
  await replayAll();
  await world.settle(10_000);
  expect(world.http.sent.map(({ url }) => url).toSorted()).toEqual([URL_A, URL_B, URL_B]);
  expect(world.deadLetters()).toHaveLength(1);
});

test("with deliver: any, endpoints that rejected it are requested again", async () => {
  let status = 404;
  const { world, replayAll } = await flow(() => status);
  world.append();
  await world.settle(10_000);
  expect(world.http.sent).toHaveLength(2);
  status = 200;
  await replayAll();
  await world.settle(10_000);
  expect(world.http.sent).toHaveLength(4);
  expect(world.deadLetters()).toHaveLength(1);
});
