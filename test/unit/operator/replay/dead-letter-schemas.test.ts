// A test for each row of the file's table, and then for the command in each of these cases.

import { expect, test } from "vitest";
import type { RecordHeaders } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { CommandSchemas } from "../../../../src/operator/connect/command-schemas.ts";
import {
  EVERY_DEAD_LETTER,
  messageIdOf,
  passing,
  readDeadLetter,
} from "../../../../src/operator/replay/dead-letter-record.ts";
import { deadLetterRules } from "../../../../src/operator/replay/dead-letter-replay.ts";
import { DeadLetterSchemas } from "../../../../src/operator/replay/dead-letter-schemas.ts";
import { ReplayMarks } from "../../../../src/operator/replay/replay-marks.ts";
import { compileSchema } from "../../../../src/registry/compile.ts";
import type { Lookup } from "../../../../src/registry/port.ts";
import { encoded, framed } from "../../../support/build/avro.ts";
import { suppressing } from "../../../support/build/suppressions.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";
import { deadLetterRecord, topics } from "../../../support/worlds/replay-world.ts";

const CALL = {
  type: "record",
  name: "Call",
  fields: ["type", "message_id"].map((name) => ({ name, type: "string" })),
};
const AVRO = encoded(CALL, { type: "track", message_id: "m-avro" });
const FOUND: Readonly<Record<number, Lookup>> = {
  7: { kind: "found", schema: { type: "AVRO", text: JSON.stringify(CALL), references: [] } },
  8: { kind: "found", schema: { type: "JSON", text: "{}", references: [] } },
  9: { kind: "found", schema: { type: "PROTOBUF", text: "", references: [] } },
  10: { kind: "unknown", error: "the registry does not know schema 10" },
  14: { kind: "unavailable", error: "http://r forbids the lookup (403)" },
  11: { kind: "unusable", error: "schema 11 is larger than 1 MiB" },
};
const OUTAGE: Lookup = { kind: "outage", error: "the registry refuses connections" };
const never = new AbortController().signal;

function world(responses = FOUND) {
  const asked: unknown[] = [];
  const source = {
    lookup: (ref: unknown) => {
      asked.push(ref);
      return Promise.resolve(responses[ref as number] ?? OUTAGE);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const schemas = new DeadLetterSchemas(
    new CommandSchemas({ source, compile: compileSchema }, never),
  );
  const said = (messageIds: readonly string[] = []) => {
    const shell = fakeShell();
    schemas.tell(shell, { messageIds });
    return shell.errors();
  };
  return { schemas, asked, said };
}

function deadLetter(value: Buffer | null, headers: RecordHeaders = []) {
  const place = { topic: "dead-letters", partition: 0, offset: 0, timestampMs: 0 };
  return readDeadLetter({ ...place, key: null, value, headers }, topicNames("sw."));
}

const idOf = async (schemas: DeadLetterSchemas, ...given: Parameters<typeof deadLetter>) =>
  messageIdOf(await schemas.read(deadLetter(...given)));

test("a dead letter that takes no schema is as it was, and nothing is asked", async () => {
  const { schemas, asked, said } = world();
  const header = ["switchyard-message-id", Buffer.from("m-1")] as const;
  for (const given of [
    deadLetter(framed(7, AVRO), [header]),
    deadLetter(null),
    deadLetter(Buffer.from('{"messageId":"m-2"}')),
    deadLetter(Buffer.of(0, 0)),
  ]) {
    expect(schemas.read(given)).toBe(given);
  }
  expect({ asked, said: said() }).toEqual({ asked: [], said: "" });
});

test("Avro, also by a header, and JSON Schema are read; each schema is asked for once", async () => {
  const { schemas, asked, said } = world();
  const header = ["__value_schema_id", Buffer.of(0, 0, 0, 0, 7)] as const;
  expect(await idOf(schemas, framed(7, AVRO))).toBe("m-avro");
  expect(await idOf(schemas, AVRO, [header])).toBe("m-avro");
  expect(await idOf(schemas, framed(8, Buffer.from('{"messageId":"m-json"}')))).toBe("m-json");
  expect({ asked, said: said() }).toEqual({ asked: [7, 8], said: "" });
});

test("those that cannot be read are counted by the reason, and the others continue", async () => {
  const { schemas, said } = world();
  for (const id of [9, 10, 10, 11]) expect(await idOf(schemas, framed(id, AVRO))).toBeNull();
  expect(await idOf(schemas, framed(7, AVRO))).toBe("m-avro");
  expect(said(["m-1"])).toBe(
    "The message ID of 1 dead letter is unknown, so it was skipped: the value is Protobuf, which is not supported\n" +
      "The message ID of 2 dead letters is unknown, so they were skipped: the registry does not know schema 10\n" +
      "The message ID of 1 dead letter is unknown, so it was skipped: schema 11 is larger than 1 MiB\n",
  );
  expect(said()).toContain("The message ID of 1 dead letter is unknown: ");
});

test("one that the registry does not return is counted, and the others are still asked for", async () => {
  const { schemas, asked, said } = world();
  for (const id of [14, 14, 10]) expect(await idOf(schemas, framed(id, AVRO))).toBeNull();
  expect(await idOf(schemas, framed(7, AVRO))).toBe("m-avro");
  expect(asked).toEqual([14, 10, 7]);
  expect(said()).toContain("of 2 dead letters is unknown: http://r forbids the lookup (403)\n");
});

test("after an outage nothing is asked any more; what is known is still read", async () => {
  const { schemas, asked, said } = world();
  expect(await idOf(schemas, framed(7, AVRO))).toBe("m-avro");
  expect(await idOf(schemas, framed(12, AVRO))).toBeNull();
  expect(await idOf(schemas, framed(13, AVRO))).toBeNull();
  expect(await idOf(schemas, framed(7, AVRO))).toBe("m-avro");
  expect(asked).toEqual([7, 12]);
  expect(said()).toBe(
    "The message ID of 2 dead letters is unknown: the registry refuses connections\n",
  );
});

test("without a registry in the configuration they are counted, too", async () => {
  const schemas = new DeadLetterSchemas(new CommandSchemas(null, never));
  expect(await idOf(schemas, framed(7, AVRO))).toBeNull();
  const shell = fakeShell();
  schemas.tell(shell, { messageIds: [] });
  expect(shell.errors()).toContain("no schema registry is configured (registry.url)");
});

test("only dead letters that pass all other filters are read", async () => {
  const { schemas, asked } = world();
  const given = deadLetter(framed(7, AVRO));
  const filter = { ...EVERY_DEAD_LETTER, messageIds: ["m-avro"] };
  expect(await passing(given, { ...filter, destinations: ["crm"] }, schemas.read)).toBeNull();
  expect(await passing(given, { ...filter, messageIds: [] }, schemas.read)).toBe(given);
  expect(asked).toEqual([]);
  expect(await passing(given, filter, schemas.read)).not.toBeNull();
  expect(await passing(given, { ...filter, messageIds: ["m-2"] }, schemas.read)).toBeNull();
  expect(await passing(given, filter, undefined)).toBeNull();
});

test("the call of a suppressed user is recognized by its schema", async () => {
  const schema = {
    type: "record",
    name: "Call",
    fields: ["type", "event", "user_id"].map((name) => ({ name, type: "string" })),
  };
  const found = {
    kind: "found",
    schema: { type: "AVRO", text: JSON.stringify(schema), references: [] },
  };
  const { schemas } = world({ 7: found as Lookup });
  const rules = deadLetterRules(
    {
      store: { name: "r", by: "p" },
      stored: { plan: { filter: EVERY_DEAD_LETTER, limit: null, perSecond: null } },
    } as Parameters<typeof deadLetterRules>[0],
    {
      topics,
      destinations: [],
      marks: new ReplayMarks([]),
      read: schemas.read,
      suppressions: suppressing("u1"),
    },
  );
  const decided = (id: number, userId: string) => {
    const value = framed(id, encoded(schema, { type: "track", event: "e", user_id: userId }));
    const cause = { stage: "route", reason: "unknown-source", topic: topics.calls } as const;
    const { record } = deadLetter(value, deadLetterRecord({}, { ...cause, headers: [] }).headers);
    return rules.decide(record, () => undefined);
  };
  expect(await decided(7, "u1")).toEqual({ kind: "skip", as: "skipped:suppressed" });
  expect(await decided(7, "u2")).toMatchObject({ kind: "write" });
  // Without its schema, the call goes back to `calls`, where the route stage checks it.
  expect(await decided(10, "u1")).toMatchObject({
    kind: "write",
    outgoing: { topic: topics.calls },
  });
});
