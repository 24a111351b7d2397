// For any crashes at any steps: a replay of calls omits none, and repeats only the batches that were in flight.

import fc from "fast-check";
import { expect, test } from "vitest";

import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import {
  type CallReplayPorts,
  CallReplayWorld,
  ids,
} from "../../../support/worlds/call-replay-world.ts";

/** Never settles, because the process is gone. */
const GONE = new Promise<never>(() => undefined);

/** Simulates a process that crashes before or after its n-th request that changes something. */
function crashing(step: number, onCrash: () => void) {
  let left = step;
  const isOver = () => {
    left -= 1;
    if (left === 0) onCrash();
    return left <= 0;
  };
  const during = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (isOver()) return GONE;
    const result = await work();
    return isOver() ? GONE : result;
  };
  return ({ kafka, producer }: CallReplayPorts): CallReplayPorts => {
    const { admin } = kafka;
    return {
      producer: {
        send: (...sent) => during(() => producer.send(...sent)),
        close: (limitMs) => producer.close(limitMs),
      },
      kafka: {
        read: (range) => kafka.read(range),
        admin: Object.assign(Object.create(admin) as typeof admin, {
          commit: (...given: Parameters<typeof admin.commit>) =>
            during(() => admin.commit(...given)),
          committed: (...given: Parameters<typeof admin.committed>) => admin.committed(...given),
          deleteGroup: (group: string) => during(() => admin.deleteGroup(group)),
          offsets: (topic: string) => admin.offsets(topic),
          offsetsOf: (asked: readonly string[]) => admin.offsetsOf(asked),
          offsetsAt: (topic: string, atMs: number) => admin.offsetsAt(topic, atMs),
        }),
      },
    };
  };
}

test("every call is written, in any interleaving of crashes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom(null, 20, 100),
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }),
      async (count, partitions, perSecond, crashes) => {
        const world = new CallReplayWorld({ partitions });
        await world.fill(count);
        let hasBegun = false;
        let batches = 0;
        for (const [at, step] of crashes.entries()) {
          const crashed = Promise.withResolvers<"crashed">();
          const changed = crashing(step, () => crashed.resolve("crashed"));
          const process = world.process(`p-${at}`, { changed });
          const before = world.written().length;
          const work: Promise<string> = hasBegun ? process.resume() : process.begin({ perSecond });
          const end: string = await world.finish(Promise.race([work, crashed.promise]));
          process.kafka.kill();
          await world.clock.advance(100);
          // The plan exists after its commit, which is the third request.
          hasBegun ||= step > 3 || end === "done";
          batches += world.written().length > before ? 1 : 0;
          if (end === "done" || end === "no such replay") break;
        }
        const last = world.process("last");
        await world.finish(hasBegun ? last.resume() : last.begin({ perSecond }));
        const written = world.written();
        expect(new Set(written)).toEqual(new Set(ids(0, count)));
        // There is one batch for each process that had one in flight when it crashed.
        const most = perSecond === null ? count : Math.ceil(perSecond / 2);
        expect(written.length - count).toBeLessThanOrEqual(batches * most);
      },
    ),
    { numRuns: costlyInputs(20) },
  );
});
