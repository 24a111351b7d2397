/** Versions of requests that kafkajs does not support; `request-versions.ts` lists them in a table. */

import type { LoadInternal } from "./load-kafkajs.ts";

/** One of kafkajs' requests, in all its versions. */
export interface Definition {
  readonly versions: readonly string[];
  readonly protocol: (choice: { readonly version: number }) => (options: object) => unknown;
}

interface Protocol {
  readonly request: {
    readonly apiVersion: number;
    readonly encode: () => Promise<Encoder>;
  };
  readonly response: Response;
}

interface Response {
  readonly decode: (payload: Buffer) => Promise<object>;
  readonly parse: (decoded: object) => Promise<unknown>;
}

interface Encoder {
  writeInt8(value: number): this;
  writeInt32(value: number): this;
  writeInt64(value: number | string): this;
  writeString(value: string): this;
  writeBoolean(value: boolean): this;
  writeArray(values: readonly Encoder[]): this;
}

interface Decoder {
  readInt8(): number;
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readString(): string | null;
  readBoolean(): boolean;
  readArray<Item>(read: (decoder: Decoder) => Item): Item[];
}

interface Codec {
  readonly Encoder: new () => Encoder;
  readonly Decoder: new (payload: Buffer) => Decoder;
}

type Create = (options: never) => Protocol;

/** Definitions that replace kafkajs' own, indexed by kafkajs' names for the requests. */
export function moreVersions(
  requests: Readonly<Record<string, Definition>>,
  load: LoadInternal,
): Readonly<Record<string, Definition>> {
  const codec: Codec = {
    Encoder: load("src/protocol/encoder.js") as Codec["Encoder"],
    Decoder: load("src/protocol/decoder.js") as Codec["Decoder"],
  };
  const more: Readonly<Record<string, (last: Create) => Readonly<Record<number, Create>>>> = {
    CreateTopics: (last) => ({ 4: as(4, last) }),
    DeleteTopics: (last) => ({ 2: as(2, last), 3: as(3, last) }),
    DescribeConfigs: (last) => ({ 3: describeConfigs(last, codec) }),
    ListOffsets: (last) => ({ 4: listOffsets(4, last, codec), 5: listOffsets(5, last, codec) }),
  };
  return Object.fromEntries(
    Object.entries(more).map(([name, add]) => {
      const own = requests[name];
      if (own === undefined) throw new Error(`kafkajs lacks ${name}`);
      const version = Math.max(...own.versions.map(Number));
      return [name, extended(own, add(own.protocol({ version }) as Create))];
    }),
  );
}

function extended(own: Definition, added: Readonly<Record<number, Create>>): Definition {
  return {
    versions: [...own.versions, ...Object.keys(added)],
    protocol: ({ version }) =>
      (added[version] as ((options: object) => unknown) | undefined) ?? own.protocol({ version }),
  };
}

/** Creates the same request with another version number. */
function as(apiVersion: number, create: Create): Create {
  return (options) => {
    const { request, response } = create(options);
    return { request: { ...request, apiVersion }, response };
  };
}

function describeConfigs(create: Create, { Decoder }: Codec): Create {
  const entry = (decoder: Decoder): object => {
    const configName = decoder.readString();
    const configValue = decoder.readString();
    const readOnly = decoder.readBoolean();
    const configSource = decoder.readInt8();
    const isSensitive = decoder.readBoolean();
    const configSynonyms = decoder.readArray((synonym) => ({
      configName: synonym.readString(),
      configValue: synonym.readString(),
      configSource: synonym.readInt8(),
    }));
    decoder.readInt8(); // the type of its value
    decoder.readString(); // documentation
    const isDefault = configSource === DEFAULT;
    const shown = { configName, configValue, isDefault, configSource };
    return Object.assign(shown, { readOnly, isSensitive, configSynonyms });
  };
  const decode = async (payload: Buffer): Promise<object> => {
    const decoder = new Decoder(payload);
    const clientSideThrottleTime = decoder.readInt32();
    const resources = decoder.readArray((resource) => ({
      errorCode: resource.readInt16(),
      errorMessage: resource.readString(),
      resourceType: resource.readInt8(),
      resourceName: resource.readString(),
      configEntries: resource.readArray(entry),
    }));
    return { throttleTime: 0, clientSideThrottleTime, resources };
  };
  return (options) => {
    const { request, response } = create(options);
    const encode = async () => (await request.encode()).writeBoolean(false);
    return { request: { ...request, apiVersion: 3, encode }, response: { ...response, decode } };
  };
}

/** Kafka's code for a broker's built-in default. */
const DEFAULT = 5;
/** The replica ID of a client that is not a broker. */
const NO_REPLICA = -1;
/** The leader epoch is unknown, so the broker does not compare it with its own. */
const NO_EPOCH = -1;
const READ_COMMITTED = 1;

interface ListOffsets {
  readonly replicaId?: number;
  readonly isolationLevel?: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly timestamp?: number | string;
    }[];
  }[];
}

function listOffsets(apiVersion: number, create: Create, { Encoder, Decoder }: Codec): Create {
  const partitionOf = (decoder: Decoder): object => {
    const partition = decoder.readInt32();
    const errorCode = decoder.readInt16();
    const timestamp = decoder.readInt64().toString();
    const offset = decoder.readInt64().toString();
    decoder.readInt32(); // the epoch of its leader
    return { partition, errorCode, timestamp, offset };
  };
  const decode = async (payload: Buffer): Promise<object> => {
    const decoder = new Decoder(payload);
    const clientSideThrottleTime = decoder.readInt32();
    const responses = decoder.readArray((response) => ({
      topic: response.readString(),
      partitions: response.readArray(partitionOf),
    }));
    return { throttleTime: 0, clientSideThrottleTime, responses };
  };
  const encode = ({ replicaId, isolationLevel, topics }: ListOffsets): Encoder =>
    new Encoder()
      .writeInt32(replicaId ?? NO_REPLICA)
      .writeInt8(isolationLevel ?? READ_COMMITTED)
      .writeArray(
        topics.map(({ topic, partitions }) =>
          new Encoder()
            .writeString(topic)
            .writeArray(
              partitions.map(({ partition, timestamp = -1 }) =>
                new Encoder().writeInt32(partition).writeInt32(NO_EPOCH).writeInt64(timestamp),
              ),
            ),
        ),
      );
  return (options) => {
    const { request, response } = create(options);
    return {
      request: { ...request, apiVersion, encode: async () => encode(options) },
      response: { ...response, decode },
    };
  };
}
