// The program while its registry, Apicurio, does not have a schema, or is down: nothing is lost, and nothing else
// stops.

import avro from "avsc";
import { expect, test } from "vitest";
import { openCommandSchemas } from "../../src/operator/connect/command-schemas.ts";
import { readCallView } from "../../src/operator/console/read/call.ts";
import { startPrivateRegistry } from "../../tools/kafka/registry.ts";
import { loaded } from "../support/kit/program.ts";
import { registerSchema } from "../support/servers/schema-registry.ts";
import {
  type ProgramWithRegistry,
  useProgramWithRegistry,
} from "../support/worlds/program-with-registry.ts";

function schemaNamed(name: string) {
  const fields = ["type", "message_id", "user_id", "event"].map((field) => {
    return { name: field, type: "string" };
  });
  return JSON.stringify({ type: "record", name, fields });
}

/** Returns a track call, framed in the same way as by Confluent's serializers. */
function framed(id: number, messageId: string): Buffer {
  const frame = Buffer.alloc(5);
  frame.writeInt32BE(id, 1);
  const type = avro.Type.forSchema(JSON.parse(schemaNamed("Any")));
  const call = { type: "track", message_id: messageId, user_id: "u1", event: "E" };
  return Buffer.concat([frame, type.toBuffer(call)]);
}

test("unknown, replayed; unreachable, waited for; others continue", async () => {
  await using registry = await startPrivateRegistry();
  const known = await registerSchema(registry.url, "known", { schema: schemaNamed("Known") });
  const program = await useProgramWithRegistry("schema-outage", registry.url);
  const send = (partition: number, value: Buffer) =>
    program.write("calls", [{ key: "u1", partition, value }]);
  const untilArrived = async (...ids: readonly string[]) => {
    await expect.poll(() => ids.filter((id) => !program.arrived.has(id))).toEqual([]);
  };

  // Returns the next ID, which no schema has yet.
  const next = known + 1;
  await send(0, framed(known, "known"));
  await send(0, framed(next, "too-early"));
  await untilArrived("known");
  await tracedByItsSchema(program);
  const deadLetters = () => program.command("dead-letters", "list");
  await expect.poll(deadLetters).toContain("unknown-schema");
  const find = (messageId: string) =>
    program.command("dead-letters", "list", "--message-id", messageId);
  const unknown = await find("too-early");
  expect(unknown).toContain("No dead letters match.");
  expect(unknown).toMatch(
    /The message ID of 1 dead letter is unknown, so it was skipped: .*schema \d+/,
  );
  const id = await registerSchema(registry.url, "next", { schema: schemaNamed("Next") });
  expect(id).toBe(next);
  expect(await find("too-early")).toMatch(/ too-early .*\n.*\n.*1 dead letter matches\./s);
  expect(await find("another")).toBe("No dead letters match.\n");
  // The result that the schema is unknown is cached for 10 s. If the record is replayed within this time, it becomes a
  // dead letter again.
  const replayed = async () => {
    await program.command("dead-letters", "replay", "--reason", "unknown-schema");
    return program.arrived.has("too-early");
  };
  await expect.poll(replayed, { interval: 3_000 }).toBe(true);

  const later = await registerSchema(registry.url, "later", { schema: schemaNamed("Later") });
  await registry.kill();
  await send(0, framed(later, "waits"));
  await expect.poll(() => program.get("/readyz")).toMatch(/been unavailable for.*refuses/);
  await send(0, framed(known, "behind"));
  await send(1, framed(known, "beside"));
  await send(1, Buffer.from(JSON.stringify({ ...CALL, messageId: "json" })));
  await untilArrived("beside", "json");
  expect(program.arrived.has("waits") || program.arrived.has("behind")).toBe(false);
  const metrics = await program.get("/metrics");
  expect(metrics).toMatch(/switchyard_registry_pending_schemas [1-9]/);
  expect(metrics).toMatch(/switchyard_registry_unreachable_since_timestamp_seconds [1-9]/);

  const unavailable = await find("too-early");
  expect(unavailable).toMatch(/^No dead letters match\.\nThe message ID of \d+ dead/);

  await registry.restart();
  await untilArrived("waits", "behind");
  await expect.poll(() => program.get("/readyz")).not.toContain("been unavailable for");
});

const CALL = { type: "track", userId: "u1", event: "E" };

/** Reads the timeline with the command and in the console. */
async function tracedByItsSchema(program: ProgramWithRegistry): Promise<void> {
  const words = /received: track "E" from web \(.*\), /;
  expect(await program.command("timeline", "known", "--since", "1h")).toMatch(words);
  const { config: own } = loaded(program.file);
  const config = { ...own, console: { ...own.console, showPayloads: true } };
  const { signal } = new AbortController();
  const query = { messageId: "known", sinceMs: 3_600_000 };
  const view = await readCallView(
    { kafka: program.kafka, config, openSchemas: openCommandSchemas, signal },
    query,
  );
  expect(view?.steps[0]?.text).toMatch(words);
  expect(view?.requests).toMatchObject([{ destination: "hook", method: "POST", note: null }]);
}
