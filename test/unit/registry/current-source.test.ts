// A registry whose URLs, passwords or TLS files change while it is asked.

import { expect, test } from "vitest";

import type { RegistryConnection } from "../../../src/registry/connection.ts";
import { currentSource } from "../../../src/registry/current-source.ts";

const never = new AbortController().signal;

function connection(token: string): RegistryConnection {
  return { urls: ["https://r.example.com"], login: { kind: "token", token }, tls: null };
}

/** What happened, in its order; a connection with the token `broken` cannot be made. */
function world(first: RegistryConnection) {
  const happened: string[] = [];
  let current = first;
  const source = currentSource(
    () => current,
    ({ login }) => {
      const name = login?.kind === "token" ? login.token : "";
      if (name === "broken") throw new Error("key values mismatch");
      happened.push(`open ${name}`);
      return {
        lookUp: async (ref) => {
          happened.push(`${name} looks up ${ref}`);
          return { kind: "unknown", error: "" };
        },
        [Symbol.asyncDispose]: async () => void happened.push(`close ${name}`),
      };
    },
  );
  const change = (next: RegistryConnection) => {
    current = next;
  };
  return { source, change, happened };
}

test("an equal connection keeps the source, another one takes its place", async () => {
  const { source, change, happened } = world(connection("a"));
  await source.lookUp(1, never);
  change(connection("a"));
  await source.lookUp(2, never);
  change(connection("b"));
  await source.lookUp(3, never);
  await source[Symbol.asyncDispose]();
  expect(happened).toEqual([
    "open a",
    "a looks up 1",
    "a looks up 2",
    "open b",
    "close a",
    "b looks up 3",
    "close b",
  ]);
});

test("TLS files that cannot be used are an outage, which ends when they can", async () => {
  const { source, change, happened } = world(connection("a"));
  change(connection("broken"));
  const error = "the registry's TLS files cannot be used: key values mismatch";
  expect(await source.lookUp(1, never)).toEqual({ kind: "outage", error });
  change(connection("b"));
  expect(await source.lookUp(1, never)).toMatchObject({ kind: "unknown" });
  expect(happened).toEqual(["open a", "open b", "close a", "b looks up 1"]);
});
