// Real producers with a real registry: with any compression and any framing, every call arrives with the right content,
// and a format that is not supported is rejected by name.

import { type IncomingMessage, request as requestHttp } from "node:http";
import { buffer } from "node:stream/consumers";
import { beforeAll, expect, type TestContext, test } from "vitest";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import {
  type RegistryStandIn,
  type Responding,
  registryStandIn,
  respondWithJson,
} from "../support/servers/registry-stand-in.ts";
import {
  CODECS,
  COUNT,
  JAVA_CLIENT,
  messageIds,
  ORDER_COMPLETED,
  PYTHON,
  type SchemaProducer,
  type Target,
  type Writing,
} from "../support/servers/schema-producers.ts";
import { sharedRegistry } from "../support/servers/schema-registry.ts";
import {
  type ProgramWithRegistry,
  useProgramWithRegistry,
} from "../support/worlds/program-with-registry.ts";

const lifetime = untilFileEnds();
const missing = new Map<SchemaProducer, string | null>();
let program: ProgramWithRegistry | null = null;
let target: Target = { brokers: "", topic: "", registry: "", apicurio: "" };

beforeAll(async () => {
  for (const producer of [PYTHON, JAVA_CLIENT]) missing.set(producer, await producer.prepare());
  const { origin, pathname } = new URL(await sharedRegistry());
  const front = await frontWithGuids(origin);
  lifetime(() => front[Symbol.asyncDispose]());
  const registry = `${front.url}${pathname}`;
  program = await useProgramWithRegistry("producers", registry, lifetime);
  const { brokers, prefix } = program;
  target = {
    brokers: brokers.join(),
    topic: `${prefix}calls`,
    registry,
    apicurio: `${origin}/apis/registry/v2`,
  };
}, 400_000);

const GUID = "00000000-0000-4000-8000-";

/** Serves Apicurio with GUIDs, which it does not support. Each GUID is computed from the ID. */
function frontWithGuids(registry: string): Promise<RegistryStandIn> {
  const pass: Responding = (request, response) => {
    const path = request.url?.replace(
      new RegExp(`/schemas/guids/${GUID}(\\d+)`),
      (_, id) => `/schemas/ids/${Number(id)}`,
    );
    const { method, headers } = request;
    const give = async (upstream: IncomingMessage) => {
      const bytes = await buffer(upstream);
      const status = upstream.statusCode ?? 500;
      const body = bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as { id?: unknown });
      const guid = `${GUID}${String(body.id).padStart(12, "0")}`;
      respondWithJson(response, status, typeof body.id === "number" ? { ...body, guid } : body);
    };
    const to = new URL(path ?? "", registry);
    const onward = requestHttp(to, { method, headers }, (upstream) => void give(upstream));
    request.pipe(onward);
  };
  return registryStandIn(pass);
}

interface Row {
  readonly producer: SchemaProducer;
  readonly writing: Writing;
}

/** Returns the message IDs. If the producer is not available, skips the test with the reason. */
async function written(
  { producer, writing }: Row,
  context: TestContext,
): Promise<readonly string[]> {
  const why = missing.get(producer);
  if (typeof why === "string") context.skip(why);
  await producer.write(target, writing);
  return messageIds(producer, writing);
}

async function untilArrived(ids: readonly string[]): Promise<void> {
  await expect.poll(() => ids.filter((id) => !program?.arrived.has(id))).toEqual([]);
}

test.for<Row>([
  { producer: PYTHON, writing: { format: "avro", framing: "prefix", codecs: CODECS } },
  { producer: PYTHON, writing: { format: "avro", framing: "header-id", codecs: CODECS } },
  { producer: PYTHON, writing: { format: "avro", framing: "header-guid", codecs: CODECS } },
  { producer: JAVA_CLIENT, writing: { format: "avro", framing: "prefix", codecs: CODECS } },
])("Avro of $producer.name, $writing.framing: every call arrives", async (row, context) => {
  const ids = await written(row, context);
  await untilArrived(ids);
  for (const messageId of ids) {
    expect(program?.arrived.get(messageId)).toMatchObject({ ...ORDER_COMPLETED, messageId });
  }
});

test("JSON Schema of python: every call arrives", async (context) => {
  const writing = { format: "json", framing: "prefix", codecs: CODECS } as const;
  const ids = await written({ producer: PYTHON, writing }, context);
  await untilArrived(ids);
  for (const id of ids)
    expect(program?.arrived.get(id)).toMatchObject({ properties: { total: 12.34 } });
});

test.for<Row & { readonly refusal: RegExp }>([
  {
    producer: PYTHON,
    writing: { format: "protobuf", framing: "prefix", codecs: ["none"] },
    refusal: /PROTOBUF/gi,
  },
  {
    producer: JAVA_CLIENT,
    writing: { format: "avro", framing: "prefix-8", codecs: ["none"] },
    refusal: /8-byte/g,
  },
  {
    producer: JAVA_CLIENT,
    writing: { format: "avro", framing: "header-own", codecs: ["none"] },
    refusal: /the schema ID is in the header apicurio\.value\.\w+/g,
  },
])(
  "$writing.format of $producer.name, $writing.framing: rejected by name",
  async (row, context) => {
    const named = async () => {
      const listed = await program?.command("dead-letters", "list");
      return listed?.match(row.refusal)?.length ?? 0;
    };
    const before = await named();
    await written(row, context);
    // Records, and therefore their dead letters, may be read twice.
    await expect.poll(named).toBeGreaterThanOrEqual(before + COUNT);
  },
);
