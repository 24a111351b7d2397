// Which Kafka is chosen, and its settings. Tests in test/local and test/integration start it.

import { afterEach, describe, expect, test, vi } from "vitest";

import { environmentBrokers, noKafka } from "../../../../tools/kafka/choose.ts";
import { clusterId } from "../../../../tools/kafka/java.ts";
import { javaVersion } from "../../../../tools/kafka/java-home.ts";
import { NO_SECURITY } from "../../../../tools/kafka/security.ts";
import {
  imageEnvironment,
  nodeSettings,
  propertiesText,
} from "../../../../tools/kafka/settings.ts";

describe("which Kafka", () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ["", []],
    ["a:9092", ["a:9092"]],
    [" a:9092, b:9092 ,", ["a:9092", "b:9092"]],
  ])("SWITCHYARD_KAFKA_BROKERS=%j gives %j", (list, brokers) => {
    vi.stubEnv("SWITCHYARD_KAFKA_BROKERS", list);
    expect(environmentBrokers()).toEqual(brokers);
  });

  test("with none of the three, the error names them all and what Java lacks", () => {
    const { message } = noKafka("JAVA_HOME is Java 11");
    for (const part of ["SWITCHYARD_KAFKA_BROKERS", "Docker", "Maven", "JAVA_HOME is Java 11"]) {
      expect(message).toContain(part);
    }
  });

  test.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['java version "1.8.0_452"', 8],
    ['openjdk version "25" 2025-09-16', 25],
    ["sh: java: not found", null],
  ])("%j is Java %j", (text, version) => {
    expect(javaVersion(text)).toBe(version);
  });
});

describe("settings", () => {
  const plaintext = { advertised: "h:1", bound: "h:1" };
  const node = { id: 1, plaintext, client: plaintext, fronted: [], controllers: ["h:2"] };

  test("become properties that Java reads back, whatever the path", () => {
    const text = propertiesText(
      nodeSettings({ ...node, security: NO_SECURITY, dataDirectory: "C:\\tmp\\größe" }),
    );
    expect(text).toContain("log.dirs=C:\\\\tmp\\\\gr\\u00f6\\u00dfe\n");
    expect(text).toContain("auto.create.topics.enable=false\n");
  });

  test("become the variables of the image", () => {
    const environment = imageEnvironment({ "node.id": "1", "a-b_c.d": "x" });
    expect(environment).toEqual({ KAFKA_NODE_ID: "1", KAFKA_A___B_C_D: "x" });
  });
});

test("no cluster id looks like an option", () => {
  const firstBytes = Array.from({ length: 256 }, (_, first) => first);
  const ids = firstBytes.map((first) => clusterId(Buffer.alloc(16, first)));
  expect(ids.filter((id) => !/^\w[\w-]{21}$/.test(id))).toEqual([]);
});
