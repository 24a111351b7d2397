/**
 * The requests that are sent, with their versions. @platformatic/kafka encodes all of them except Fetch and Produce.
 *
 *   request                       versions   brokers of Kafka from
 *   Produce                       3 to 7     0.11
 *   Fetch, with a session         11         2.3
 *   ListOffsets                   2 to 7     0.11
 *   Metadata                      6 to 12    2.0; with topic IDs 2.8
 *   OffsetCommit                  5 to 8     2.1
 *   OffsetFetch                   5 to 8     2.1; of many groups 3.0
 *   FindCoordinator               1 to 6     0.11; of many groups 3.0
 *   JoinGroup                     5 to 8     2.3
 *   SyncGroup, LeaveGroup         1 to 5     0.11
 *   Heartbeat                     3, 4       2.3
 *   CreateTopics                  2 to 7     0.11
 *   DeleteTopics                  1 to 6     0.11
 *   InitProducerId                0 to 4     0.11
 *   DescribeConfigs               1 to 4     1.1
 *   DeleteGroups                  0 to 2     1.1
 *   IncrementalAlterConfigs       0, 1       2.3
 *   ApiVersions                   2          2.0
 *   SaslHandshake                 1          1.0
 *   SaslAuthenticate              0 to 2     1.0
 */

import * as kafka from "@platformatic/kafka";

import { encodeProduce, type ProduceRequest } from "../wire/encode-produce.ts";
import { encodeFetch, type FetchWithSession } from "../wire/fetch-request.ts";
import { type FetchResponse, readFetchResponse } from "../wire/fetch-response.ts";
import type { BoundedReader } from "./bounded-reader.ts";
import { encodedRequest, type Request } from "./request.ts";
import type { RequestKind } from "./request-version.ts";

/** @platformatic/kafka's functions for one version of a request. */
interface VersionedCodec<Response = never> {
  readonly api: { readonly key: number; readonly version: number };
  readonly createRequest: (...args: readonly unknown[]) => kafka.Writer;
  readonly parseResponse: (
    correlationId: number,
    apiKey: number,
    version: number,
    reader: kafka.Reader,
  ) => Response;
}

interface Api {
  readonly kind: RequestKind;
  readonly byVersion: ReadonlyMap<number, VersionedCodec>;
  /** The first version in Kafka's flexible encoding, in which tagged fields end the headers. */
  readonly flexible: number;
}

/** The versions of a request from one to another, by the names that @platformatic/kafka exports. */
function api(apiName: string, from: number, to: number, flexible: number): Api {
  const modules = kafka as unknown as Readonly<Record<string, VersionedCodec>>;
  const name = `${apiName[0]?.toLowerCase()}${apiName.slice(1)}`;
  const byVersion = new Map<number, VersionedCodec>();
  for (let version = from; version <= to; version += 1) {
    const found = modules[`${name}V${version}`];
    if (found === undefined) throw new Error(`@platformatic/kafka lacks ${apiName} ${version}`);
    byVersion.set(version, found);
  }
  const [first] = byVersion.values();
  const apiKey = first?.api.key ?? -1;
  return { kind: { apiKey, apiName, versions: [...byVersion.keys()] }, byVersion, flexible };
}

type RequestMaker<Newest> =
  Newest extends kafka.API<infer Arguments, infer Response>
    ? (...args: Arguments) => Request<Response>
    : never;

/** Makes a request of its arguments. All versions take those of the newest, and ignore what they lack. */
function sent<Newest>(each: Api, options: Partial<Request<unknown>> = {}) {
  const make = (...args: readonly unknown[]): Request<unknown> => ({
    kind: each.kind,
    args,
    ...options,
    isFlexible: (version) => version >= each.flexible,
    encode: (version) => codecOf(each, version).createRequest(...args).buffer,
    read: (reader, version) => readResponse(codecOf(each, version), reader),
  });
  return make as RequestMaker<Newest>;
}

function codecOf({ kind, byVersion }: Api, version: number): VersionedCodec {
  const codec = byVersion.get(version);
  if (codec === undefined) throw new Error(`${kind.apiName} has no version ${version}`);
  return codec;
}

/**
 * Reads a response. @platformatic/kafka throws its contents if they have any error code that it knows; here, the callers
 * decide about these.
 */
export function readResponse<Response>(
  { api, parseResponse }: Pick<VersionedCodec<Response>, "api" | "parseResponse">,
  reader: BoundedReader,
): Response {
  try {
    return parseResponse(0, api.key, api.version, reader);
  } catch (error) {
    if (error instanceof kafka.ResponseError) return error["response"] as Response;
    throw error;
  }
}

export type ProduceResponse = kafka.produceV7.ProduceResponse;

/** The requests of versions 3 to 7 have the same bytes, the responses do not. */
const PRODUCE = api("Produce", 3, 7, 9);
export const FETCH: RequestKind = { apiKey: 1, apiName: "Fetch", versions: [11] };
/** Metadata in a version whose bytes can be compared with those of the previous response (`broker/topic-leaders.ts`). */
export const LEADERS: RequestKind = { apiKey: 3, apiName: "Metadata", versions: [6] };
const LIST_OFFSETS = api("ListOffsets", 2, 7, 6);
const METADATA = api("Metadata", 6, 12, 9);
const TOPIC_IDS = api("Metadata", 10, 12, 9);
const OFFSET_COMMIT = api("OffsetCommit", 5, 8, 8);
const OFFSET_FETCH = api("OffsetFetch", 5, 8, 6);
const GROUPS_OFFSETS = api("OffsetFetch", 8, 8, 6);
const FIND_COORDINATOR = api("FindCoordinator", 1, 6, 3);
const COORDINATORS = api("FindCoordinator", 4, 6, 3);
const JOIN_GROUP = api("JoinGroup", 5, 8, 6);
const HEARTBEAT = api("Heartbeat", 3, 4, 4);
const LEAVE_GROUP = api("LeaveGroup", 1, 5, 4);
const SYNC_GROUP = api("SyncGroup", 1, 5, 4);
const SASL_HANDSHAKE = api("SaslHandshake", 1, 1, 9);
const API_VERSIONS = api("ApiVersions", 2, 2, 3);
const CREATE_TOPICS = api("CreateTopics", 2, 7, 5);
const DELETE_TOPICS = api("DeleteTopics", 1, 6, 4);
const INIT_PRODUCER_ID = api("InitProducerId", 0, 4, 2);
const DESCRIBE_CONFIGS = api("DescribeConfigs", 1, 4, 4);
const SASL_AUTHENTICATE = api("SaslAuthenticate", 0, 2, 2);
const DELETE_GROUPS = api("DeleteGroups", 0, 2, 2);
const ALTER_CONFIGS = api("IncrementalAlterConfigs", 0, 1, 1);

/** A coordinator's key is the ID of a group. */
export const GROUP_KEY = 0;
/** The latest leader epoch is used. */
export const NO_EPOCH = -1;

export const produce = (fields: ProduceRequest): Request<ProduceResponse> =>
  encodedRequest(PRODUCE.kind, fields, encodeProduce, (reader, version) =>
    readResponse(codecOf(PRODUCE, version), reader),
  );
export const fetch = (fields: FetchWithSession): Request<FetchResponse> =>
  encodedRequest(FETCH, fields, encodeFetch, readFetchResponse);
export const listOffsets = sent<typeof kafka.listOffsetsV7.api>(LIST_OFFSETS);
export const metadata = sent<typeof kafka.metadataV12.api>(METADATA);
export const topicIds = sent<typeof kafka.metadataV12.api>(TOPIC_IDS);
export const offsetCommit = sent<typeof kafka.offsetCommitV8.api>(OFFSET_COMMIT);
export const offsetFetch = sent<typeof kafka.offsetFetchV7.api>(OFFSET_FETCH);
export const groupsOffsets = sent<typeof kafka.offsetFetchV8.api>(GROUPS_OFFSETS);
export const findCoordinator = sent<typeof kafka.findCoordinatorV6.api>(FIND_COORDINATOR);
export const coordinators = sent<typeof kafka.findCoordinatorV6.api>(COORDINATORS);
export const joinGroup = sent<typeof kafka.joinGroupV8.api>(JOIN_GROUP);
export const syncGroup = sent<typeof kafka.syncGroupV5.api>(SYNC_GROUP);
export const leaveGroup = sent<typeof kafka.leaveGroupV5.api>(LEAVE_GROUP);
/** Repeatable, because a broker that throttles reads requests late. */
export const heartbeat = sent<typeof kafka.heartbeatV4.api>(HEARTBEAT, { isRepeatable: true });
export const apiVersions = sent<typeof kafka.apiVersionsV2.api>(API_VERSIONS);
/** Connections send these themselves. */
export const saslHandshake = sent<typeof kafka.saslHandshakeV1.api>(SASL_HANDSHAKE);
export const saslAuthenticate = sent<typeof kafka.saslAuthenticateV2.api>(SASL_AUTHENTICATE);
export const createTopics = sent<typeof kafka.createTopicsV7.api>(CREATE_TOPICS);
export const deleteTopics = sent<typeof kafka.deleteTopicsV6.api>(DELETE_TOPICS);
export const initProducerId = sent<typeof kafka.initProducerIdV4.api>(INIT_PRODUCER_ID);
export const describeConfigs = sent<typeof kafka.describeConfigsV4.api>(DESCRIBE_CONFIGS);
export const deleteGroups = sent<typeof kafka.deleteGroupsV2.api>(DELETE_GROUPS);
export const alterConfigs = sent<typeof kafka.incrementalAlterConfigsV1.api>(ALTER_CONFIGS);

/** The requests that a member sends all the time. */
export const OF_MEMBERS: readonly RequestKind[] = [HEARTBEAT.kind, OFFSET_COMMIT.kind];

/** All requests that can be sent, by API key. Connections authenticate by themselves. */
export const SENT_REQUESTS: readonly RequestKind[] = [
  PRODUCE.kind,
  FETCH,
  ...[
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    SYNC_GROUP,
    SASL_HANDSHAKE,
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    INIT_PRODUCER_ID,
    DESCRIBE_CONFIGS,
    SASL_AUTHENTICATE,
    DELETE_GROUPS,
    ALTER_CONFIGS,
  ].map(({ kind }) => kind),
];
