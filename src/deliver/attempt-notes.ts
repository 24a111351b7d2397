/** Between a destination's attempts and the topic of attempts: when there is none, nothing is done. */

import type { ByteText } from "../domain/byte-text.ts";
import type { WebhookDestination } from "../domain/destination.ts";
import type { EndpointConnections, Phases } from "./attempt.ts";
import { attemptWriter } from "./attempt-record.ts";
import type { Attempted } from "./work-ports.ts";

/** The part of the topic of attempts that this needs. */
interface Notes {
  readonly responseBytes: number | null;
  open(messageId: string): ByteText | null;
  end(): void;
}

/** Connections whose results have the phases of their requests, and the head of a refused answer. */
export function notingPhases(
  connections: EndpointConnections,
  notes: Notes | undefined,
): EndpointConnections {
  if (notes === undefined) return connections;
  const { responseBytes } = notes;
  const fresh = (): Phases => (responseBytes === null ? {} : { keepBytes: responseBytes });
  return {
    // Those of a trace are there already: it wants no answer.
    send: (endpoint, request, done, phases) => {
      const noted = phases === undefined ? fresh() : Object.assign(phases, fresh());
      connections.send(endpoint, request, done, noted);
    },
    update: (destination) => connections.update(destination),
    close: () => connections.close(),
  };
}

export interface AttemptNotes {
  add(attempted: Attempted): void;
  /** Endpoints are named as they are configured by now. */
  update(destination: WebhookDestination): void;
}

/** Null: attempts are not written down. */
export function attemptsOf(
  destination: WebhookDestination,
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
