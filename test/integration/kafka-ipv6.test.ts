// A Kafka at [::1] that also advertises this address: the whole program, and commands.

import { expect, test } from "vitest";

import { startKafka } from "../../tools/kafka/start.ts";
import { startProxy } from "../chaos/proxy.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { connectTo, narrow, topicWith } from "../support/worlds/fronted-kafka.ts";

test("records are written, read and committed, and the broker is named by its address", async () => {
  await using proxy = await startProxy("::1");
  await using broker = await startKafka({ private: true, fronts: [proxy.address] });
  proxy.leadTo(broker.behind[0] ?? "");
  expect(proxy.address).toMatch(/^\[::1\]:\d+$/);
  const lines = new LogLines();
  const kafka = connectTo(proxy.address, lines);
  const topic = await topicWith(kafka, "over-ipv6", 1);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = kafka.consume(narrow(topic, taker, "hold"));
  const view = kafka.watch();
  await taker.untilTaken(1);
  const producer = kafka.producer();
  await producer.send([record(topic, "next")]);
  await taker.untilTaken(2);
  expect(values(taker.taken).at(-1)).toBe("next");
  await expect.poll(() => consumer.progress()[0]?.position).toBe(2);
  await expect.poll(() => view.endsAtMs()).not.toBeNull();
  expect(view.brokers()).toEqual([{ broker: proxy.address, outage: null }]);
  proxy.hold("everything");
  await lines.until("kafka.broker.unreachable");
  expect(view.brokers()).toMatchObject([{ broker: proxy.address }]);
  const said = lines.lines.find(({ msg }) => msg === "kafka.broker.unreachable");
  expect(said?.fields).toMatchObject({ broker: proxy.address });
  proxy.release();
  await lines.until("kafka.broker.reachable");
  await producer.close(5_000);
  await kafka.close();
});
