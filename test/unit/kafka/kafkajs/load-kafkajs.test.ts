// Loads several copies of kafkajs. Only the last one that was loaded works (see load-kafkajs.ts).

import { expect, test } from "vitest";

import { loadKafkajs, type Replacement } from "../../../../src/kafka/kafkajs/load-kafkajs.ts";
import { REPLACEMENTS } from "../../../../src/kafka/kafkajs/replacements.ts";

const MURMUR = "src/producer/partitioners/default/murmur2.js";
const PARTITIONER = "src/producer/partitioners/default/index.js";

const constant: Replacement = { name: "constant", module: MURMUR, replace: () => () => 3 };

type Partitioner = () => (args: object) => number;
const message = {
  topic: "t",
  partitionMetadata: Array.from({ length: 7 }, (_, partitionId) => ({ partitionId, leader: 0 })),
  message: { key: "anything" },
};

test("with the supported version, kafkajs gets the replacement from its own require", () => {
  const { active, load } = loadKafkajs("2.2.4", [constant]);
  expect(active).toEqual(["constant"]);
  expect((load(PARTITIONER) as Partitioner)()(message)).toBe(3);
});

test("with any other version every replacement is omitted", () => {
  const { active, version, load } = loadKafkajs("2.2.5", [constant]);
  expect(version).toBe("2.2.4");
  expect(active).toEqual([]);
  expect((load(MURMUR) as (key: string) => number)("anything")).not.toBe(3);
  expect((load(PARTITIONER) as Partitioner)()(message)).not.toBe(3);
});

test("a replacement of a module that another one has loaded is rejected", () => {
  const early: Replacement = {
    name: "early",
    module: PARTITIONER,
    replace: (load) => load(PARTITIONER),
  };
  expect(() => loadKafkajs("2.2.4", [early, constant])).toThrow(
    /"constant" is too late: .*murmur2\.js is already loaded/,
  );
});

test("a replacement may change the module in place", () => {
  const { load } = loadKafkajs("2.2.4", [
    {
      name: "in-place",
      module: "src/utils/long.js",
      replace: (loadInternal) =>
        Object.assign(loadInternal("src/utils/long.js") as object, { marked: true }),
    },
  ]);
  expect(load("src/utils/long.js")).toHaveProperty("marked", true);
});

test("Switchyard's own replacements are all in use", async () => {
  const { SUPPORTED_VERSION, kafkajsInUse, Kafka } = await importKafkajs();
  expect(kafkajsInUse.version).toBe(SUPPORTED_VERSION);
  expect(new Set(kafkajsInUse.replacements)).toEqual(new Set(REPLACEMENTS.map(({ name }) => name)));
  expect(Kafka).toBeTypeOf("function");
});

const importKafkajs = () => import("../../../../src/kafka/kafkajs/kafkajs.ts");
