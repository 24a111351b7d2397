/**
 * `npm run test:scenarios`: runs Kafka's consumer scenarios with four clients on three local brokers, and prints the
 * table of `docs/contributing/proofs.md`. The exit status is 1 if our consumer broke a law.
 *
 *   npm run test:scenarios -- --clients Switchyard,Java --scenarios "broker failure"
 */

import { join } from "node:path";

import { chooseJava } from "../../tools/kafka/choose.ts";
import { startCluster } from "../../tools/kafka/cluster.ts";
import { flagsOf, runScript, say } from "../support/script/script.ts";
import { prepareEnvironment, pythonOf } from "../support/servers/client-libraries.ts";
import { type Client, KAFKAJS, OURS, runScenario, SCENARIOS } from "./consumer-scenarios.ts";

const LIBRDKAFKA = "confluent-kafka==2.16.0";
/** Confluent's script is for Python 2, whose dictionaries have another method, and for older flags. */
const PYTHON = `
import os, runpy, sys, confluent_kafka
sys.path.insert(0, os.path.join(os.path.dirname(confluent_kafka.__file__), "kafkatest"))
sys.argv = [each.replace("--bootstrap-server", "--broker-list") for each in sys.argv]
from verifiable_client import VerifiableClient
class Items(dict): iteritems = dict.items
VerifiableClient.dbg = lambda self, line: None
configure = VerifiableClient.set_config
VerifiableClient.set_config = staticmethod(lambda conf, args: configure(conf, Items(args)))
runpy.run_module("verifiable_consumer", run_name="__main__")
`;
const JAVA = "org.apache.kafka.tools.VerifiableConsumer";
const JAVA_OPTIONS = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const HEAD =
  "| Scenario | Client | Seen | Seen twice | Never seen | Seconds until assigned | Laws broken |";

async function prepareClients(): Promise<readonly Client[]> {
  const signal = AbortSignal.timeout(180_000);
  const why = await prepareEnvironment(LIBRDKAFKA, signal);
  const python = why ?? [pythonOf(LIBRDKAFKA), "-c", PYTHON];
  const { java: path, jars } = await chooseJava(signal, say);
  const java = { name: "Java", command: [path, ...JAVA_OPTIONS, "-cp", join(jars, "*"), JAVA] };
  return [OURS, { name: "librdkafka", command: python }, java, KAFKAJS];
}

await runScript(async () => {
  const names = { type: "string" } as const;
  const { values } = flagsOf({ options: { clients: names, scenarios: names } });
  const clients = await prepareClients();
  await using cluster = await startCluster({ log: say });
  const rows = [HEAD, "|---|---|--:|--:|--:|--:|---|"];
  let status = 0;
  for (const scenario of values.scenarios?.split(",") ?? Object.keys(SCENARIOS))
    for (const client of clients) {
      if (values.clients?.split(",").includes(client.name) === false) continue;
      const result = await runScenario(cluster, client, scenario);
      let cells: unknown[] = ["", "", "", "", result];
      if (typeof result !== "string") {
        const { seen, seenTwice, neverSeen, unownedMs, broken } = result;
        cells = [seen, seenTwice, neverSeen, (unownedMs / 1_000).toFixed(1)];
        cells.push([...broken.keys()].join(", ") || "none");
        for (const [law, what] of broken) say(`${law}: ${what}`);
        if (client === OURS && broken.size > 0) status = 1;
      }
      rows.push(`| ${[scenario, client.name, ...cells].join(" | ")} |`);
      say(rows.at(-1) ?? "");
    }
  process.stdout.write(`${rows.join("\n")}\n`);
  return status;
});
