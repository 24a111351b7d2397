/** The state and the functions that are needed to apply a record. */

import type { Audience } from "./audience.ts";
import type { AudienceSettings } from "./audience-settings.ts";
import type { Gathering } from "./batch-lookups.ts";
import { type CallMaker, callMaker } from "./identify-call.ts";
import type { PartitionState } from "./partition-state.ts";
import type { Events, Registry } from "./ports.ts";
import type { Cause } from "./record-context.ts";

export interface Work {
  readonly state: PartitionState;
  readonly partition: number;
  readonly callsTopic: string;
  readonly settings: (audienceId: string | null) => AudienceSettings;
  readonly registry: Registry;
  readonly events: Events;
  readonly nowMs: () => number;
  readonly gathering: Gathering;
  /** Writes all pending writes. All records below `position` must have been applied. */
  readonly write: (position: number) => Promise<void>;
  /** Lets other work run. If many writes are pending, writes them first. */
  readonly breathe: (position: number) => Promise<void>;
}

export function refuse(work: Work, { record }: Cause, error: string): void {
  work.state.deadLetter({ record, reason: "invalid-sync", error });
}

/** @throws Error if the audience has no source. The caller must have checked this. */
export function makerFor(work: Work, { atMs }: Cause, audience: Audience): CallMaker {
  const { source, integrations, consent } = work.settings(audience.id);
  if (source === null) throw new Error(`audience ${audience.id} has no source`);
  return callMaker({
    topic: work.callsTopic,
    source,
    integrations,
    consent,
    trait: audience.key,
    atMs,
  });
}
