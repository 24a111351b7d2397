/** The demonstration's configuration: one source, three destinations, delays of one and two seconds. */

import { stringify } from "yaml";

import { AUDIENCE } from "./syncs.ts";

export const HEALTHY = {
  id: "crm-hook",
  name: "Webhooks",
  path: "/crm",
  secret: "demo-crm-shared-secret",
};
export const FLAKY = {
  id: "flaky-hook",
  name: "Engagement",
  path: "/engagement",
  secret: "demo-engagement-shared-secret",
  /** How many requests for a call get the response 503 before one is accepted. */
  failures: 2,
};
/** The batch settings of `HEALTHY`. */
const BATCH = { calls: 5, wait: "250ms" };
export const WAREHOUSE = { id: "warehouse", name: "Warehouse" };
export const SOURCE = "web";
export const WRITE_KEY = "demo-write-key";

/** Returns YAML for `switchyard run --config`. */
export function demoConfig(options: {
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly adminPort: number;
  readonly ingestPort: number;
  readonly consolePort: number;
  readonly url: (path: string) => string;
  readonly stateDir: string;
}): string {
  const { brokers, topicPrefix, adminPort, ingestPort, consolePort, url, stateDir } = options;
  const webhook = ({ id, name, path, secret }: typeof HEALTHY) => ({
    id,
    type: "webhook",
    name,
    sharedSecret: secret,
    endpoints: [{ url: url(path), headers: { "X-Team": "demo" } }],
  });
  return stringify({
    kafka: { brokers, topicPrefix, partitions: 3, replicationFactor: 1 },
    sources: [
      {
        id: SOURCE,
        writeKey: WRITE_KEY,
        destinations: [HEALTHY, FLAKY, WAREHOUSE].map(({ id }) => id),
      },
    ],
    defaultSource: SOURCE,
    destinations: [
      { ...webhook(HEALTHY), batch: BATCH },
      webhook(FLAKY),
      { ...WAREHOUSE, type: "topic" },
    ],
    audiences: [{ id: AUDIENCE.id, integrations: { All: false, [HEALTHY.name]: true } }],
    audience: { stateDir },
    attempts: { enabled: true, retention: "1d" },
    delivery: { retryDelays: ["1s", "2s"], allowNetworks: ["127.0.0.0/8"] },
    ingest: { host: "127.0.0.1", port: ingestPort, handover: "0s" },
    admin: { host: "127.0.0.1", port: adminPort },
    // The receivers belong to the demonstration, and the console is only reachable from this machine.
    console: { host: "127.0.0.1", port: consolePort, showPayloads: true, readOnly: false },
  });
}
