// The registry of `switchyard kafka up --registry`: it is found again, restarted, and stopped.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { bringUp, look, type Place, placeIn, takeDown } from "../../tools/kafka/kept.ts";
import { REGISTRY } from "../../tools/kafka/kept-services.ts";
import { registryResponds } from "../../tools/kafka/registry-java.ts";
import { registerSchema } from "../support/servers/schema-registry.ts";

const never = new AbortController().signal;
const silent = () => undefined;

let root = "";
let place: Place = placeIn("", REGISTRY);
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "switchyard-test-"));
  place = placeIn(root, REGISTRY);
});
afterEach(async () => {
  await takeDown(place, never, silent);
  rmSync(root, { recursive: true, force: true });
});

test("it stays until it is taken down, and a killed one comes back with its schemas", async (context) => {
  const { kept, already } = await bringUp(REGISTRY, place, never, silent);
  expect(already).toBe(false);
  const id = await registerSchema(kept.address, "a", { schema: '"string"' });
  const again = await bringUp(REGISTRY, place, never, silent);
  expect(again).toEqual({ kept, already: true });
  if (kept.how !== "java") return context.skip("on Docker it is the engine that keeps it");

  for (const pid of kept.pids) process.kill(pid, "SIGKILL");
  await expect.poll(() => registryResponds(kept.address)).toBe(false);
  expect(await look(REGISTRY, place)).toMatchObject({ isUp: false });
  const back = await bringUp(REGISTRY, place, never, silent);
  expect(back.kept.address).toBe(kept.address);
  const found = await fetch(`${kept.address}/schemas/ids/${id}`);
  expect(await found.json()).toMatchObject({ schema: '"string"' });

  expect(await takeDown(place, never, silent)).toEqual(back.kept);
  expect(await look(REGISTRY, place)).toBeNull();
  expect(existsSync(place.directory)).toBe(false);
  await expect.poll(() => registryResponds(kept.address)).toBe(false);
});
