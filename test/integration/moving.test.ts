// Each snippet of docs/moving.md, run with its unmodified library, writes its call to `calls`, and a cut-over as
// documented does not repeat the calls of the parallel run.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as requestText } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import type { RunningIngest } from "../../src/router/ingest/stage.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { fencedBlocks } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { PREPARE_LIMIT_MS, preparePython, pythonOf } from "../support/servers/client-libraries.ts";
import { checkoutCopy } from "../support/worlds/checkout-copy.ts";
import { type CallsTopic, callsTopic, ingestOn, KEY } from "../support/worlds/ingest-on-kafka.ts";

const run = promisify(execFile);
const PAGE = readFileSync(join(ROOT, "docs/moving.md"), "utf8");
const SNIPPETS = fencedBlocks(PAGE).filter(({ language }) => /^(?:js|python)$/.test(language));

let calls: CallsTopic;
let ingest: RunningIngest;
let noPython: ReadonlyMap<string, string> = new Map();
beforeAll(async () => {
  noPython = await preparePython();
  calls = await callsTopic("moving");
  ingest = await ingestOn(calls);
}, PREPARE_LIMIT_MS + 30_000);
afterAll(async () => {
  await ingest[Symbol.asyncDispose]();
  await calls[Symbol.asyncDispose]();
});

test("the page has two snippets in each language", () => {
  expect(SNIPPETS.map(({ language }) => language)).toEqual(["js", "js", "python", "python"]);
});

test.for(SNIPPETS)("$info sends its call", async ({ language, info, text }, context) => {
  const reason = noPython.get(info);
  if (reason !== undefined) return context.skip(reason);
  for (const stand of ["WRITE_KEY", "https://calls.example.com", '"Moved"']) {
    expect(text).toContain(stand);
  }
  const folder = mkdtempSync(join(tmpdir(), "switchyard-moving-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const file = language === "js" ? "snippet.mjs" : "snippet.py";
  const filled = text
    .replace("WRITE_KEY", KEY)
    .replace("https://calls.example.com", `http://127.0.0.1:${ingest.port}`)
    .replace("Moved", `Moved ${info}`);
  writeFileSync(join(folder, file), filled);
  await run(language === "js" ? process.execPath : pythonOf(info), [file], { cwd: folder });
  const call = { type: "track", userId: "u-1", event: `Moved ${info}` };
  await expect.poll(() => calls.values()).toContainEqual(expect.objectContaining(call));
});

test("the commands of a cut-over cancel the calls of the parallel run, and later calls are delivered once", async () => {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    void requestText(request).then((body) => {
      received.push((JSON.parse(body) as { event: string }).event);
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  onTestFinished(() => void receiver.close());
  const [ingestPort, adminPort] = [await freePort(), await freePort()];
  await using copy = checkoutCopy({
    PATH: `./path:${process.env.PATH}`,
    SWITCHYARD_KAFKA_TOPIC_PREFIX: uniquePrefix("moving"),
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const save = (more: string) =>
    copy.save(
      "switchyard.yaml",
      `
kafka: { brokers: [127.0.0.1:9092], partitions: 2 }
sources: [{ id: web, writeKey: k, destinations: [crm-hook] }]
destinations: [{ id: crm-hook, type: webhook, ${more} endpoints: [{ url: "${url}" }] }]
delivery: { allowNetworks: [127.0.0.0/8] }
ingest: { host: 127.0.0.1, port: ${ingestPort}, handover: 1s }
admin: { host: 127.0.0.1, port: ${adminPort} }
`,
    );
  const send = async (event: string) => {
    const response = await fetch(`http://127.0.0.1:${ingestPort}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("k:")}` },
      body: JSON.stringify({ userId: "u-1", event }),
    });
    expect(response.status).toBe(200);
  };
  const metrics = async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const routed = (count: number) =>
    expect
      .poll(metrics, { timeout: 60_000 })
      .toContain(`switchyard_route_deliveries_total{destination="crm-hook"} ${count}\n`);
  save("paused: true,");
  await copy.run("mkdir path; ln -s ../bin/switchyard.js path/switchyard");
  const program = copy.start("switchyard run");
  await expect.poll(program.output, { timeout: 60_000 }).toContain('"msg":"ready"');

  for (const event of ["Parallel 1", "Parallel 2", "Parallel 3"]) await send(event);
  await routed(3);
  const [step] = fencedBlocks(PAGE).filter(({ text }) => text.includes("switchyard cancel"));
  const cut = await copy.run(step?.text ?? "exit 1");
  expect(cut.status, `${cut.output}${program.output()}`).toBe(0);
  await send("After the step");
  await routed(4);
  save("");
  const drained = await copy.run("switchyard wait crm-hook --timeout 1m");
  expect(drained.status, `${drained.output}${program.output()}`).toBe(0);
  expect(received).toEqual(["After the step"]);
});
