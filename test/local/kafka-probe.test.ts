// Checks with real sockets whether a broker responds at an address.

import { type AddressInfo, createServer } from "node:net";
import { afterEach, expect, test, vi } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { responds } from "../../tools/kafka/probe.ts";
import { startKafka } from "../../tools/kafka/start.ts";

afterEach(() => vi.unstubAllEnvs());

test("a port where nothing listens does not respond", async () => {
  expect(await responds(`127.0.0.1:${await freePort()}`)).toBe(false);
});

test.each(["nonsense", "127.0.0.1:99999", ""])("%j does not respond", async (address) => {
  expect(await responds(address)).toBe(false);
});

test.each([
  ["something that is no broker", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), false],
  ["a broker, whose response begins so", Buffer.from("0000000a535759440000", "hex"), true],
])("%s", async (_, response, expected) => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await responds(`127.0.0.1:${port}`)).toBe(expected);
  server.close();
});

test("brokers that do not respond are an error that names them", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  vi.stubEnv("SWITCHYARD_KAFKA_BROKERS", address);
  await expect(startKafka()).rejects.toThrow(`SWITCHYARD_KAFKA_BROKERS is ${address}, but no`);
});
