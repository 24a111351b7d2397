// The law of marks, for replays that are killed at any point, resumed or restarted: a marked dead letter is not sent
// again without --include-replayed, a process sends none twice, and none is omitted.

import fc from "fast-check";
import { expect, test } from "vitest";

import { deadLetterRanges, readMarks } from "../../../../src/operator/replay/read-dead-letters.ts";
import { marksOf, ReplayMarks } from "../../../../src/operator/replay/replay-marks.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { ReplayWorld, topics } from "../../../support/worlds/replay-world.ts";

const never = new AbortController().signal;

interface Run {
  /** True if the run resumes the previous replay at the point where it was killed. */
  readonly resumes: boolean;
  readonly includeReplayed: boolean;
  readonly perSecond: number | null;
  readonly onlyRejected: boolean;
  /** The time until a write is acknowledged. */
  readonly writeMs: number;
  /** Null if the run is not killed. */
  readonly killAfterMs: number | null;
}

const runs = fc.array(
  fc.record({
    resumes: fc.boolean(),
    includeReplayed: fc.boolean(),
    perSecond: fc.constantFrom(null, 20, 100),
    onlyRejected: fc.boolean(),
    writeMs: fc.constantFrom(0, 1, 10, 80),
    killAfterMs: fc.option(fc.integer({ min: 0, max: 900 }), { freq: 4 }),
  }),
  { minLength: 1, maxLength: 5 },
);

/** Returns the message IDs of marked dead letters, with the names of the last replays that sent them. */
async function marked(world: ReplayWorld): Promise<ReadonlyMap<string, string>> {
  const kafka = world.cluster.connect();
  const ranges = await world.finish(deadLetterRanges(kafka, topics.deadLetters, null));
  const marks = await world.finish(readMarks({ kafka, topics, signal: never }, ranges));
  return new Map(
    world.cluster.records(topics.deadLetters).flatMap((deadLetter) => {
      const mark = marks.of(deadLetter);
      // The dead letter of user-7 is for the call m-7.
      const id = deadLetter.key?.toString().replace("user-", "m-") ?? "";
      return mark === null ? [] : [[id, mark.replay] as const];
    }),
  );
}

/** Returns the dead letters that one process sent. */
async function work(world: ReplayWorld, run: Run, name: string, resumes: boolean) {
  const before = world.delivered().length;
  const process = world.process(`${name}-${before}-${resumes}-${world.clock.nowMs()}`);
  world.cluster.delayWrites(run.writeMs);
  const { includeReplayed, perSecond } = run;
  const filter = run.onlyRejected ? { reasons: ["rejected" as const] } : {};
  const running = resumes
    ? process.resume(name)
    : process.begin(name, { includeReplayed, perSecond }, filter);
  const isKilled = run.killAfterMs !== null;
  if (isKilled) {
    running.catch(() => undefined);
    await world.clock.advance(run.killAfterMs ?? 0);
    process.kafka.kill();
    await world.clock.advance(1_000);
  } else await world.finish(running);
  return { sent: world.delivered().slice(before), isKilled };
}

test("what is marked is not sent again, none is sent twice by a process, none is omitted", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 3 }),
      runs,
      async (count, partitions, sequence) => {
        const world = new ReplayWorld({ partitions });
        await world.fill(count, (number) => ({
          reason: number % 3 === 0 ? "expired" : "rejected",
        }));
        let open: { readonly name: string; readonly includeReplayed: boolean } | null = null;
        for (const [number, run] of sequence.entries()) {
          const resumes: boolean = run.resumes && open !== null;
          const name: string = open !== null && resumes ? open.name : `replay-${number}`;
          const includeReplayed: boolean =
            open !== null && resumes ? open.includeReplayed : run.includeReplayed;
          const before = await marked(world);
          const { sent, isKilled } = await work(world, run, name, resumes);
          expect(new Set(sent).size).toBe(sent.length);
          for (const id of sent) {
            const mark = before.get(id);
            if (mark !== undefined)
              expect({ includeReplayed, isOwn: mark === name }).toEqual({
                includeReplayed: true,
                isOwn: false,
              });
          }
          const after = await marked(world);
          // A mark is written after its dead letter.
          for (const id of after.keys()) expect(world.delivered()).toContain(id);
          if (!isKilled) for (const id of sent) expect(after.has(id)).toBe(true);
          open = isKilled ? { name, includeReplayed } : null;
        }
        world.cluster.delayWrites(0);
        await world.finish(world.process("last").begin("last"));
        const all = Array.from({ length: count }, (_, number) => `m-${number}`);
        expect(new Set(world.delivered())).toEqual(new Set(all));
        expect([...(await marked(world)).keys()].toSorted()).toEqual(all.toSorted());
      },
    ),
    { numRuns: costlyInputs(20) },
  );
});

const PARTITIONS = [0, 1, 2];
const offset = fc.integer({ min: 0, max: 20 });
const places = fc.array(
  fc.record({
    partition: fc.constantFrom(...PARTITIONS),
    offset,
    timestampMs: fc.constantFrom(0, 1, 2),
  }),
  { minLength: 1, maxLength: 12 },
);
const ranges = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...PARTITIONS), offset, offset), {
    selector: ([one]) => one,
  })
  .map((all) =>
    all.map(([partition, one, other]) => {
      return { partition, from: Math.min(one, other), to: Math.max(one, other) };
    }),
  );

test("a dead letter in a range has its last mark, every other one waits", () => {
  fc.assert(
    fc.property(fc.array(places, { maxLength: 6 }), ranges, (batches, asked) => {
      const marks = new ReplayMarks(asked);
      const last = new Map<string, readonly [timestampMs: number, replay: string]>();
      for (const [number, batch] of batches.entries()) {
        const mark = { replay: `r-${number}`, by: "p", atMs: number };
        for (const record of marksOf("t", batch, mark)) marks.take(record);
        for (const { partition, offset, timestampMs } of batch) {
          last.set(`${partition}/${offset}`, [timestampMs, mark.replay]);
        }
      }
      for (const place of batches.flat()) {
        const { partition, offset, timestampMs } = place;
        const isAsked = asked.some((one) => {
          return one.partition === partition && one.from <= offset && offset < one.to;
        });
        const [markedMs, replay] = last.get(`${partition}/${offset}`) ?? [];
        const expected = isAsked && markedMs === timestampMs ? replay : undefined;
        expect(marks.of(place)?.replay).toBe(expected);
      }
    }),
  );
});
