/** Passes a destination's attempts to the attempts topic, if there is one. */

import type { Phases, Sender } from "../destinations/port.ts";
import type { ByteText } from "../domain/byte-text.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import { attemptWriter } from "./attempt-record.ts";
import type { Attempted } from "./work-ports.ts";

/** The part of the attempts topic that this needs. */
interface Notes {
  readonly responseBytes: number | null;
  open(messageId: string): ByteText | null;
  end(): void;
}

/** A sender whose results have the phases of their requests, and the start of a rejected response. */
export function notingPhases(sender: Sender, notes: Notes | undefined): Sender {
  if (notes === undefined) return sender;
  const { responseBytes } = notes;
  const fresh = (): Phases => (responseBytes === null ? {} : { keepBytes: responseBytes });
  return {
    ...sender,
    // A trace has the phases already, and needs no part of the response.
    send: (endpoint, prepared, done, phases, traceparent) => {
      const noted = phases === undefined ? fresh() : Object.assign(phases, fresh());
      sender.send(endpoint, prepared, done, noted, traceparent);
    },
  };
}

export interface AttemptNotes {
  add(attempted: Attempted): void;
  /** Endpoints are named as they are configured now. */
  update(destination: AttemptedDestination): void;
}

/** Null: attempts are not recorded. */
export function attemptsOf(
  destination: AttemptedDestination,
  notes: Notes | undefined,
): AttemptNotes | null {
  if (notes === undefined) return null;
  let write = attemptWriter(destination);
  return {
    add: (attempted) => {
      const out = notes.open(attempted.delivery.messageId);
      if (out === null) return;
      write(attempted, out);
      notes.end();
    },
    update: (changed) => {
      write = attemptWriter(changed);
    },
  };
}
