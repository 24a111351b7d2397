import { expect, test } from "vitest";

import { readTopicIds } from "../../../../src/kafka/kafkajs/raw-request.ts";

test("a broker that knows no ids is not asked", async () => {
  const send = () => Promise.reject(new Error("asked"));
  const broker = {
    versions: { 3: { minVersion: 0, maxVersion: 9 } },
    connectionPool: { host: "a", port: 9092, send },
  };
  expect((await readTopicIds(broker, ["call"])).size).toBe(0);
});
