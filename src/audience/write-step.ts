/** Writes one step of a partition, in the order that `partition-state.ts` gives. */

import { bareLetterOf, deadLetterOf } from "./dead-letters.ts";
import type { PartitionState, Pending } from "./partition-state.ts";
import type { Events, GivenUp, Registry, Writer } from "./ports.ts";

export interface StepWriter {
  readonly state: PartitionState;
  readonly partition: number;
  readonly writer: Writer;
  readonly registry: Registry;
  readonly events: Events;
  readonly deadLetterTopic: string;
  readonly nowMs: () => number;
}

/** Everything below `position` has been worked on. */
export async function writeStep(step: StepWriter, position: number): Promise<void> {
  const { state, writer, registry, partition } = step;
  const pending = state.take(position);
  const givenUp = [...pending.givenUp, ...(await writeCalls(step, pending))];
  if (pending.changelog.length > 0) {
    const [refused] = await writer.send(pending.changelog);
    if (refused !== undefined) throw new Error(`the changelog is not taken: ${refused.error}`);
  }
  if (pending.store.length > 0) await state.store.write(pending.store);
  if (pending.toTell.length > 0) {
    const told = pending.toTell.map((id) => {
      const audience = state.audience(id);
      const counts = state.counts(audience?.first ?? -1);
      return [id, audience === null ? null : { audience, counts }] as const;
    });
    await registry.tell(new Map(told), partition);
  }
  step.events.told(pending.told);
  for (const each of givenUp) step.events.refused(each);
}

/** Returns what was given up because its call is too large. */
async function writeCalls(step: StepWriter, pending: Pending): Promise<readonly GivenUp[]> {
  const { writer, deadLetterTopic, nowMs } = step;
  const letters = new Map(
    pending.givenUp.map((each) => [deadLetterOf(each, deadLetterTopic, nowMs()), each]),
  );
  const records = [...pending.calls.keys(), ...letters.keys()];
  const refused = records.length === 0 ? [] : await writer.send(records);
  if (refused.length === 0) return [];
  const tooLarge = refused.flatMap(({ record, error }): GivenUp[] => {
    const from = pending.calls.get(record);
    return from === undefined ? [] : [{ record: from, reason: "too-large", error }];
  });
  const more = new Map(
    tooLarge.map((each) => [deadLetterOf(each, deadLetterTopic, nowMs()), each]),
  );
  const refusedAgain = more.size === 0 ? [] : await writer.send([...more.keys()]);
  const bare = [...refused, ...refusedAgain].flatMap(({ record }) => {
    const each = letters.get(record) ?? more.get(record);
    return each === undefined ? [] : [bareLetterOf(each, deadLetterTopic, nowMs())];
  });
  const [problem] = bare.length === 0 ? [] : await writer.send(bare);
  if (problem === undefined) return tooLarge;
  throw new Error(
    `The topic ${deadLetterTopic} takes not even a dead letter without its value (${problem.error}). Raise its max.message.bytes.`,
  );
}
