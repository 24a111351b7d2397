/**
 * Processes that deliver to `crm` and `other` on a real Kafka, a receiver that can reject, and a ledger of all published
 * calls.
 */

import { headerTexts } from "../build/calls.ts";
import { useKafka } from "../kit/kafka.ts";
import { type Sections, useProgram } from "../kit/program.ts";
import { useReceiver } from "../kit/receiver.ts";

export const STAGES = "route,deliver,delay";

/** Everything ends with the test. */
export async function controlledPrograms() {
  const own = useKafka("control");
  const { prefix, brokers, write, recordsIn } = own;
  /** Destinations that get the response 503. */
  const refusing = new Set<string>();
  const hooks = await useReceiver(({ path }) => (refusing.has(path.slice(1)) ? 503 : 200));
  const taken = (destination: string, isAccepted: boolean) =>
    hooks
      .at(`/${destination}`)
      .filter(({ status }) => (status === 200) === isAccepted)
      .map(({ id, body }) => ({ id, user: (JSON.parse(body) as { userId: string }).userId }));
  const receiver = {
    refusing,
    accepted: (destination: string) => taken(destination, true),
    refused: (destination: string) => taken(destination, false),
  };
  /** @param more other sections of the configuration */
  const worldOf = (delay: string, more: Partial<Sections> = {}) =>
    useProgram({
      kafka: { brokers, topicPrefix: prefix, partitions: 2, sessionTimeout: "6s" },
      destinations: Object.fromEntries(
        ["crm", "other"].map((id) => [
          id,
          { name: "Webhooks", endpoints: [{ url: `${hooks.url}/${id}` }] },
        ]),
      ),
      delivery: { retryDelays: [delay] },
      ...more,
    });
  const twoProcesses = async (delay: string) => {
    const [world, second] = [worldOf(delay), worldOf(delay)];
    // The first process creates the topics.
    return { world, second, programs: [await world.ready(STAGES), await second.ready(STAGES)] };
  };
  const ledger: { readonly id: string; readonly user: string }[] = [];
  const publish = async (count: number, users = 7) => {
    const calls = Array.from({ length: count }, () => {
      const [id, user] = [`m${ledger.length}`, `u${ledger.length % users}`];
      ledger.push({ id, user });
      return { key: user, value: { type: "track", userId: user, event: "e", messageId: id } };
    });
    await write("calls", calls);
  };
  /** The headers of all records in a topic with the prefix. */
  const headersIn = async (name: string) => (await recordsIn(name)).map(headerTexts);
  return { ...own, receiver, worldOf, twoProcesses, headersIn, ledger, publish };
}

export const inOrder = (all: readonly { readonly id: string; readonly user: string }[]) =>
  Object.fromEntries(
    [...Map.groupBy(all, ({ user }) => user)]
      .map(([user, of]) => [user, of.map(({ id }) => id)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
