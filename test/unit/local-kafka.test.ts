import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { environmentBrokers, noKafka } from "../../tools/kafka/choose.ts";
import { javaVersion } from "../../tools/kafka/java-home.ts";
import { holdLock } from "../../tools/kafka/lock.ts";
import { answers, freePort } from "../../tools/kafka/probe.ts";
import { brokerSettings, imageEnvironment, propertiesText } from "../../tools/kafka/settings.ts";
import { startKafka } from "../../tools/kafka/start.ts";

const never = new AbortController().signal;
const PID_MAX = 4_194_304; // no process has it

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

  test("brokers that do not answer are an error that names them", async () => {
    const address = `127.0.0.1:${await freePort()}`;
    vi.stubEnv("SWITCHYARD_KAFKA_BROKERS", address);
    await expect(startKafka()).rejects.toThrow(`SWITCHYARD_KAFKA_BROKERS is ${address}, but no`);
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
  const listeners = { advertised: "h:1", client: "h:1", controller: "h:2" };

  test("become properties that Java reads back, whatever the path", () => {
    const text = propertiesText(brokerSettings(listeners, "C:\\tmp\\größe"));
    expect(text).toContain("log.dirs=C:\\\\tmp\\\\gr\\u00f6\\u00dfe\n");
    expect(text).toContain("auto.create.topics.enable=false\n");
  });

  test("become the variables of the image", () => {
    const environment = imageEnvironment({ "node.id": "1", "a-b_c.d": "x" });
    expect(environment).toEqual({ KAFKA_NODE_ID: "1", KAFKA_A___B_C_D: "x" });
  });
});

describe("probe", () => {
  test("a port where nothing listens does not answer", async () => {
    expect(await answers(`127.0.0.1:${await freePort()}`)).toBe(false);
  });

  test.each(["nonsense", "127.0.0.1:99999", ""])("%j does not answer", async (address) => {
    expect(await answers(address)).toBe(false);
  });

  test.each([
    ["something that is no broker", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), false],
    ["a broker, whose response begins so", Buffer.from("0000000a535759440000", "hex"), true],
  ])("%s", async (_, response, expected) => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.write(response));
    });
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    expect(await answers(`127.0.0.1:${port}`)).toBe(expected);
    server.close();
  });
});

describe("lock", () => {
  let path = "";
  beforeEach(() => {
    path = join(mkdtempSync(join(tmpdir(), "switchyard-lock-")), "lock");
  });
  afterEach(() => rmSync(join(path, ".."), { recursive: true }));

  test("the second waits, says for whom, and gets it when the first gives it back", async () => {
    const first = await holdLock(path, never, () => undefined);
    const waitedFor = Promise.withResolvers<number>();
    const second = holdLock(path, never, waitedFor.resolve);
    expect(await waitedFor.promise).toBe(process.pid);
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
  });

  test("a lock whose owner is gone is taken over", async () => {
    writeFileSync(path, String(PID_MAX));
    using _ = await holdLock(path, never, () => expect.unreachable());
  });

  test("waiting ends when the signal aborts", async () => {
    using _ = await holdLock(path, never, () => undefined);
    const waiting = new AbortController();
    const second = holdLock(path, waiting.signal, () => waiting.abort(new Error("enough")));
    await expect(second).rejects.toThrow();
  });
});
