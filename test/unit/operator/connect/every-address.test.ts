// The table in the header of admin-port.ts.

import { expect, test } from "vitest";
import { everyAddress } from "../../../../src/operator/connect/admin-port.ts";

const NAMES: Readonly<Record<string, readonly string[]>> = {
  pods: ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
  one: ["10.0.0.9"],
  localhost: ["::1", "127.0.0.1"],
  six: ["fd00::1", "fd00::2"],
};

async function lookup(name: string) {
  const found = NAMES[name];
  if (found === undefined) throw new Error("ENOTFOUND");
  return found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
}

test.each([
  ["a name of several", ["pods:9464"], ["10.0.0.1:9464", "10.0.0.2:9464", "10.0.0.3:9464"]],
  ["names of one", ["one:1", "localhost:2"], ["one:1", "localhost:2"]],
  ["an unknown name", ["gone:1"], ["gone:1"]],
  ["addresses", ["10.1.1.1:1", "[fd00::9]:2"], ["10.1.1.1:1", "[fd00::9]:2"]],
  ["several of version 6", ["six:1"], ["[fd00::1]:1", "[fd00::2]:1"]],
  [
    "this machine, which is asked already",
    ["127.0.0.1:9464", "pods:9464"],
    ["127.0.0.1:9464", "10.0.0.1:9464", "10.0.0.3:9464"],
  ],
])("%s", async (_what, given, asked) => {
  expect(await everyAddress(given, lookup, ["127.0.0.1", "10.0.0.2"])).toEqual(asked);
});
