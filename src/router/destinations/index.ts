/** The table of destination types. To add a type, create a folder for it and add a line to this table. */

import assert from "node:assert/strict";
import type { Section } from "../../base/settings/setting.ts";
import type { Destination } from "../../domain/destination.ts";
import type { DestinationType, Transport, TransportOptions } from "./port.ts";
import { topic } from "./topic/topic.ts";
import { webhook } from "./webhook/webhook.ts";

const TYPES: Readonly<Record<string, DestinationType>> = { webhook, topic };

export const TYPE_SETTINGS: Readonly<Record<string, Section<Destination>>> = Object.fromEntries(
  Object.entries(TYPES).map(([kind, { settings }]) => [kind, settings]),
);

export function typeOf({ kind }: Destination): DestinationType {
  const type = TYPES[kind];
  assert(type !== undefined);
  return type;
}

/** Opens the transports of all types to which deliveries are sent, and combines them into one. */
export async function openTransport(options: TransportOptions): Promise<Transport> {
  const opened = new Map<string, Transport>();
  for (const [kind, { attempts }] of Object.entries(TYPES)) {
    if (attempts !== null) opened.set(kind, await attempts.open(options));
  }
  return {
    open: (destination) => {
      const own = opened.get(destination.kind);
      assert(own !== undefined);
      return own.open(destination);
    },
    update: (egress) => {
      const changed = [...opened.values()].filter((each) => each.update(egress));
      return changed.length > 0;
    },
  };
}
