// Three processes of one destination: what one of them finds out about the endpoint also applies to the others. Only
// one process makes the retries of a destination.

import { expect, test } from "vitest";

import { partitionOfKey } from "../../src/kafka/port.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

/** For each process, this is enough failures for its circuit to open while others are accepted. */
const CALLS = 1_800;

/** Three processes, and a receiver that responds after 20 ms with the status that `statusOf` returns. */
async function threeProcesses(statusOf: (id: string, earlier: number) => number) {
  const accepted = new Set<string>();
  const hook = await useReceiver(({ id, earlier }) => {
    const status = statusOf(id, earlier);
    if (status === 200) accepted.add(id);
    return { status, afterMs: 20 };
  });
  const { prefix, brokers, publish } = useKafka("news");
  const { ready } = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions: 3 },
    destinations: { crm: { concurrency: 4, endpoints: [{ url: `${hook.url}/hook` }] } },
    delivery: { retryDelays: ["1s"] },
    log: { attempts: "failures" },
  });
  return { accepted, publish, programs: await Promise.all([ready(), ready(), ready()]) };
}

test("first attempts that fail hold no process while retries are accepted by another", async () => {
  const { accepted, programs, publish } = await threeProcesses((_id, earlier) =>
    earlier === 0 ? 503 : 200,
  );
  await publish(CALLS);
  await expect.poll(() => accepted.size).toBe(CALLS);
  // The circuit was closed in the process with the retries, and open in others.
  const opened = programs.filter(({ lines }) =>
    lines.some(({ msg, state }) => msg === "endpoint.circuit-changed" && state === "open"),
  );
  expect(opened.length).toBeGreaterThan(0);
});

test("after an outage the first acceptance in any process lets all of them deliver", async () => {
  let isUp = false;
  /** Partitions from which a call was accepted at the first attempt, and the calls that were accepted until then. */
  const partitions = new Set<number>();
  let acceptedBefore = 0;
  const { accepted, programs, publish } = await threeProcesses((id, earlier) => {
    if (!isUp) return 503;
    if (earlier === 0 && partitions.size < 3) {
      partitions.add(partitionOfKey(Buffer.from(id.replace("m", "u")), 3));
      acceptedBefore = accepted.size;
    }
    return 200;
  });
  await publish(CALLS);
  // Each process has sent several probes, so its next probe is at least ten seconds away.
  const openings = () =>
    programs.map(({ lines }) => lines.filter((line) => line.state === "open").length);
  await expect.poll(() => Math.min(...openings())).toBeGreaterThanOrEqual(3);
  isUp = true;
  await expect.poll(() => accepted.size).toBe(CALLS);
  // The queues of all processes continue before one of them has delivered its own queue.
  expect(partitions.size).toBe(3);
  expect(acceptedBefore).toBeLessThan(CALLS / 3);
});
