/** The program as a child process, with a registry, a destination on this machine, and its topics. */

import { useKafka } from "../kit/kafka.ts";
import type { Lifetime } from "../kit/lifetime.ts";
import { useProgram } from "../kit/program.ts";
import { useReceiver } from "../kit/receiver.ts";

/** Resolves when the program is ready. @param registry URLs, separated by commas */
export async function useProgramWithRegistry(name: string, registry: string, lifetime?: Lifetime) {
  /** Bodies of webhooks by message ID; `payload` is `full`. */
  const arrived = new Map<string, unknown>();
  const hook = await useReceiver(({ body }) => {
    const call = JSON.parse(body) as { readonly messageId: string };
    arrived.set(call.messageId, call);
    return 200;
  }, lifetime);
  const own = useKafka(name, lifetime === undefined ? {} : { lifetime });
  const world = useProgram(
    {
      kafka: { brokers: own.brokers, topicPrefix: own.prefix, partitions: 2 },
      registry: { url: registry },
      destinations: {
        hook: { payload: "full", messageIdHeader: false, endpoints: [{ url: hook.url }] },
      },
    },
    lifetime,
  );
  const program = await world.ready("route,deliver,delay");
  return {
    ...{ ...own, file: world.file, arrived, get: program.get },
    /** The output of a command of the program with the same configuration. */
    command: async (...args: readonly string[]): Promise<string> => {
      const { out, err } = await world.inProcess(args);
      return out + err;
    },
  };
}

export type ProgramWithRegistry = Awaited<ReturnType<typeof useProgramWithRegistry>>;
