// Ports for processes that are about to start, checked with real sockets.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";

async function listening(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

test("none that a socket which asks for any could be given meanwhile, and none twice", async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()));
  expect(Math.max(...ports)).toBeLessThan(32_768);
  expect(new Set(ports).size).toBe(ports.length);
});

test("processes that ask at the same time are given different ones", async () => {
  const module = join(import.meta.dirname, "../../tools/kafka/free-port.ts");
  const script = `const { freePort } = await import(${JSON.stringify(module)});
    for (let each = 0; each < 300; each += 1) console.log(await freePort());`;
  const ask = async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", script]);
    return stdout.trim().split("\n");
  };
  const ports = (await Promise.all([ask(), ask(), ask()])).flat();
  expect(ports).toHaveLength(900);
  expect(new Set(ports).size).toBe(ports.length);
});

test("the preferred one while it is free, else another", async () => {
  const preferred = await freePort();
  expect(await freePort(preferred)).toBe(preferred);
  const server = await listening(preferred);
  const other = await freePort(preferred);
  expect(other).not.toBe(preferred);
  const second = await listening(other);
  expect((second.address() as AddressInfo).port).toBe(other);
  server.close();
  second.close();
});
