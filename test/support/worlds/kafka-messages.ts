/** The calls that send each kind of request, with Kafka's names of fields and ours, for tests against Kafka's own classes. */

import { Signal } from "../../../src/base/runtime/signal.ts";
import { createLog } from "../../../src/base/telemetry/log.ts";
import { fetch, initProducerId, produce } from "../../../src/kafka/broker/requests.ts";
import { describeConfigs } from "../../../src/kafka/cluster/admin.ts";
import { Brokers } from "../../../src/kafka/cluster/brokers.ts";
import * as changes from "../../../src/kafka/cluster/change-topics.ts";
import { Clients } from "../../../src/kafka/cluster/connection.ts";
import { groupsOffsets } from "../../../src/kafka/cluster/groups-offsets.ts";
import { errorType } from "../../../src/kafka/cluster/kafka-error.ts";
import { LeaderTable } from "../../../src/kafka/cluster/leader-table.ts";
import { listOffsets } from "../../../src/kafka/cluster/offsets.ts";
import { encodeSubscription, PROTOCOL } from "../../../src/kafka/group/assignment.ts";
import { Coordinator } from "../../../src/kafka/group/coordinator.ts";
import type { Prng } from "../clock/prng.ts";
import { type Fields, randomText } from "../servers/message-broker.ts";
import { testConnection } from "./test-kafka.ts";

const LOG = createLog("error", { write: () => undefined });
const TOPICS = ["é", "b"];
const SUBSCRIPTION = encodeSubscription(TOPICS);
const SASL = { mechanism: "plain", username: "ü", password: "€" } as const;
const IDS = { producerId: 5, producerEpoch: 6, firstSequence: 7, nowMs: 8 };
const none = () => undefined;

/** What we send in these fields of any request. */
export const SENT: Fields = {
  ...{ acks: -1, allowAutoTopicCreation: false, assignments: [], currentLeaderEpoch: -1 },
  ...{ configOperation: 0, groupId: "group", groupInstanceId: null, isolationLevel: 1, keyType: 0 },
  ...{ includeClusterAuthorizedOperations: false, includeTopicAuthorizedOperations: false },
  ...{ includeDocumentation: false, includeSynonyms: false, logStartOffset: -1, minBytes: 1 },
  ...{
    mechanism: "PLAIN",
    protocolType: "consumer",
    rackId: "",
    replicaId: -1,
    validateOnly: false,
  },
  ...{ committedLeaderEpoch: -1, protocolName: PROTOCOL, reason: null },
  ...{ requireStable: false, resourceType: 2, retentionTimeMs: -1, timeoutMs: 15_000 },
  ...{ topicId: "A".repeat(22), transactionalId: null, transactionTimeoutMs: 60_000 },
};

/** Kafka's names of fields, by ours. */
const OURS: Readonly<Record<string, readonly string[]>> = {
  ...{ topic: ["name"], topicName: ["name"], topics: ["responses"], topicMetadata: ["topics"] },
  ...{ partition: ["index", "partitionIndex"], partitionId: ["partitionIndex"] },
  ...{ partitionMetadata: ["partitions"], topicErrorCode: ["errorCode"], timeout: ["timeoutMs"] },
  partitions: ["partitionData", "partitionResponses", "partitionIndexes", "numPartitions"],
  ...{ leader: ["leaderId"], leaderId: ["leader"], replicas: ["replicaNodes"], isr: ["isrNodes"] },
  ...{ offset: ["committedOffset", "fetchOffset"], metadata: ["committedMetadata"] },
  ...{ maxBytes: ["partitionMaxBytes"], end: ["highWatermark"], aborted: ["abortedTransactions"] },
  ...{ generationId: ["generationIdOrMemberEpoch"], memberAssignment: ["assignment"] },
  ...{ logAppendTime: ["logAppendTimeMs"], messages: ["records"], config: ["configs"] },
  ...{ name: ["resourceName"], values: ["configs"], kind: ["resourceType"] },
};

/** A copy of a message that has our names, too. */
export function ours(fields: Fields): Fields {
  if (Array.isArray(fields)) return fields.map(ours);
  if (typeof fields !== "object" || fields === null || Buffer.isBuffer(fields)) return fields;
  const copy = Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, ours(each)]));
  for (const [name, kafkas] of Object.entries(OURS)) {
    const found = kafkas.find((each) => each in fields);
    if (found !== undefined && !(name in fields)) copy[name] = copy[found];
  }
  return copy;
}

export const pair = ([name, value]: readonly unknown[]) => ({ name, value });
/** Our side of a connection. */
export function connect(port: number, sasl: typeof SASL | null = null) {
  const address = { nodeId: 1, host: "127.0.0.1", port };
  const clients = new Clients(testConnection({ brokers: [`127.0.0.1:${port}`], sasl }), LOG);
  const { shared, destroy } = clients.create();
  const { signal } = new AbortController();
  const coordinator = new Coordinator({
    ...{ groupId: "group", brokers: { coordinatorOf: async () => address }, connections: shared },
    ...{ signal, wake: Object.assign(new Signal(), { wait: async () => undefined }) },
  });
  const brokers = new Brokers({ shared });
  return { address, clients, shared, brokers, coordinator, [Symbol.dispose]: destroy };
}
export type Us = ReturnType<typeof connect>;

/** Opens a connection, which negotiates versions and may authenticate. */
async function open({ address }: Us, sasl: typeof SASL | null) {
  using us = connect(address.port, sasl);
  return await us.shared.any(async ({ versions }) => versions);
}

export interface Kind {
  /** Sends a request with the fields of this one. */
  readonly ask: (us: Us, request: Fields) => unknown;
  /** What is returned for a response; by default its fields. */
  readonly got?: (response: Fields) => unknown;
  /** `true` if an error in a response is thrown. */
  readonly throws?: true;
  /** Some of the versions that we send. */
  readonly only?: string;
  /** Fields of a request that are neither in `SENT` nor random, and those of a response that are not random. */
  readonly sent?: (random: Prng) => Fields;
  readonly given?: Fields;
}

const thrown = (ask: Kind["ask"], more?: Partial<Kind>): Kind => ({ ask, throws: true, ...more });
/** Kafka's code of the first error in a message, or in its lists; 0 if there is none. */
export function errorIn(message: Fields): number {
  const inner = Object.values(message ?? {})
    .filter(Array.isArray)
    .flat()
    .map(errorIn);
  return [message?.errorCode ?? 0, ...inner].find((code) => code !== 0) ?? 0;
}
const isFine = (message: Fields) => errorIn(message) === 0;
/** The partitions of all topics. */
const flat = (topics: Fields): Fields[] =>
  topics.flatMap(({ topic, partitions }: Fields) =>
    partitions.map((each: Fields) =>
      typeof each === "number" ? { topic, partition: each } : { ...each, topic },
    ),
  );
const topicsIn = (list: Fields) => list.map(({ topic }: Fields) => topic);
const valuesIn = (list: Fields) =>
  Object.fromEntries(list.map(({ name, value }: Fields) => [name, value]));
/** The errors that are thrown together, by topic. */
const errorsOf = (call: Promise<void>) =>
  call.then(
    () => [],
    (error: unknown) =>
      (error as AggregateError).errors.map(({ topic, type }) => `${topic} ${type}`).sort(),
  );
const topicErrors = ({ topics }: Fields) =>
  topics
    .flatMap((each: Fields) =>
      isFine(each) ? [] : `${each.topic ?? ""} ${errorType(each.errorCode)}`,
    )
    .sort();

/** By Kafka's name, which may be followed by the use. */
export const KINDS: Readonly<Record<string, Kind>> = {
  Produce: {
    sent: (random) => ({
      records: () =>
        Array.from({ length: random.integer(1, 3) }, (_, at) => ({
          ...{ ...IDS, sequence: IDS.firstSequence + at, timestamp: random.integer(0, 2 ** 48) },
          ...{ key: random.pick([null, Buffer.from(randomText(random))]), value: Buffer.from("€") },
          headers: random.pick([[], [[randomText(random), Buffer.from(randomText(random))]]]),
        })),
    }),
    ask: ({ brokers }, { acks, timeout, topicData }) => {
      const topics = topicData.map(({ topic, partitions }: Fields) => {
        return { topic, partitions: partitions.map((each: Fields) => ({ ...each, ...IDS })) };
      });
      return brokers.ask(produce({ acks, timeout, topicData: topics }));
    },
  },
  Fetch: {
    ask: async ({ shared, address }, request) => {
      const connection = shared.broker(address).createConnection();
      const requested = flat(request.topics);
      const fields = { ...request, requested, forgotten: flat(request.forgottenTopicsData) };
      return await connection.send(fetch(fields as Fields)).finally(() => connection.close());
    },
    got: (response) => ({ ...response, sets: flat(response.topics) }),
  },
  ListOffsets: {
    sent: (random) => ({ timestamp: random.integer(-2, 2 ** 52) }),
    ask: ({ brokers }, { topics }) =>
      brokers.any((to) => listOffsets(to, flat(topics), flat(topics)[0].timestamp, 1)),
    got: ({ topics }) => flat(topics),
  },
  Metadata: {
    ask: ({ brokers }, { topics }) => brokers.metadata(topicsIn(topics)),
    got: ({ topics, ...all }) => {
      // `Metadata of topic IDs` compares the IDs.
      const withoutId = ({ topicId: _, ...topic }: Fields) => topic;
      return { ...all, topics: topics.map(withoutId) };
    },
  },
  "Metadata of leaders": {
    only: "6",
    ask: async ({ clients, brokers }, { topics: asked }) => {
      const table = new LeaderTable(clients, brokers);
      await table.load(topicsIn(asked));
      return ({ topics }: Fields) =>
        flat(topics).map(({ topic, partition }) => ({
          leader: table.of(topic)?.nodes[partition],
          address: table.leaderOf(topic, partition),
          topicErrorCode: table.of(topic)?.errorCode,
        }));
    },
    got: ({ brokers, topics }) =>
      flat(topics).map(({ topic, leader }) => ({
        leader,
        address: brokers.find(({ nodeId }: Fields) => nodeId === leader) ?? null,
        topicErrorCode: topics.find((each: Fields) => each.topic === topic).errorCode,
      })),
  },
  "Metadata of topic IDs": {
    only: "10+",
    ask: ({ brokers }, { topics }) => brokers.topicIds(topicsIn(topics)),
    got: ({ topics }) =>
      topics
        .filter(({ errorCode, topicId, topic }: Fields) => {
          return errorCode === 0 && topicId !== SENT.topicId && topic !== null && topic !== "";
        })
        .map(({ topic, topicId }: Fields) => {
          const hex = Buffer.from(topicId, "base64url").toString("hex");
          return pair([topic, hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")]);
        }),
  },
  OffsetCommit: thrown(
    ({ brokers }, { topics: [{ topic, partitions }] }) =>
      changes.commitOffsets(brokers, "group", topic, partitions),
    { sent: () => ({ generationIdOrMemberEpoch: -1, memberId: "", "topics#": 1 }) },
  ),
  "OffsetCommit of members": thrown(({ coordinator }, member) =>
    coordinator.commit(member, flat(member.topics)),
  ),
  OffsetFetch: thrown(({ coordinator }, { topics }) => coordinator.offsets(topics), {
    only: "0-7",
    got: ({ topics }) => flat(topics),
  }),
  "OffsetFetch of groups": {
    only: "8",
    sent: (random) => ({ groupId: () => randomText(random) }),
    ask: ({ brokers }, { groups }) => {
      const wanted = (each: Fields) => ({ topic: each.topic, partitions: flat([each]) });
      return groupsOffsets(
        brokers,
        groups.map(({ groupId, topics }: Fields) => [groupId, topics.map(wanted)]),
      );
    },
    got: ({ groups }) => {
      const offsets = (each: Fields) => flat([each]).filter(({ offset }) => offset >= 0);
      const byTopic = (topics: Fields) =>
        topics.map((each: Fields) => pair([each.topic, offsets(each)]));
      return groups
        .filter(isFine)
        .map((each: Fields) => pair([each.groupId, byTopic(each.topics)]));
    },
  },
  FindCoordinator: thrown(({ brokers }, { key }) => brokers.coordinatorOf(key), { only: "0-3" }),
  "FindCoordinator of groups": {
    only: "4+",
    ask: ({ brokers }, { coordinatorKeys }) => brokers.coordinatorsOf(coordinatorKeys),
    got: ({ coordinators }) =>
      coordinators.filter(isFine).map(({ key, nodeId }: Fields) => pair([key, nodeId])),
  },
  JoinGroup: thrown(
    ({ coordinator }, member) => {
      const own = { subscription: SUBSCRIPTION, onMemberId: none };
      return coordinator.join({ rebalanceTimeoutMs: 1, ...member, ...own });
    },
    {
      sent: () => ({ protocols: [{ name: PROTOCOL, metadata: SUBSCRIPTION }] }),
      given: { metadata: SUBSCRIPTION.toString("base64") },
      got: ({ members, ...all }) => {
        return { ...all, members: members.map((each: Fields) => ({ ...each, topics: TOPICS })) };
      },
    },
  ),
  SyncGroup: thrown(
    async ({ coordinator }, member) => ({
      assignment: await coordinator.sync(member, member.assignments),
    }),
    {
      sent: (random) => ({
        assignments: () => [{ memberId: randomText(random), assignment: SUBSCRIPTION }],
      }),
    },
  ),
  Heartbeat: thrown(({ coordinator }, member) => coordinator.heartbeat(member)),
  LeaveGroup: {
    sent: () => ({ "members#": 1 }),
    ask: async ({ coordinator }, { members, memberId = members[0].memberId }) => {
      await coordinator.find();
      await coordinator.leave(memberId);
    },
  },
  SaslHandshake: thrown((us) => open(us, SASL), { given: { mechanisms: ["PLAIN"] } }),
  SaslAuthenticate: {
    sent: () => ({ authBytes: Buffer.from("\0ü\0€") }),
    ask: (us) =>
      open(us, SASL).then(none, (error: unknown) => ({ rejected: (error as Error).name })),
    got: (response) => (isFine(response) ? undefined : { rejected: "AuthenticationError" }),
  },
  ApiVersions: thrown((us) => open(us, null), {
    got: ({ apiKeys }) => Object.fromEntries(apiKeys.map((each: Fields) => [each.apiKey, each])),
  }),
  CreateTopics: {
    ask: ({ brokers }, { topics }) => {
      const spec = (each: Fields) => ({ ...each, config: valuesIn(each.config) });
      return errorsOf(changes.createTopics(brokers, topics.map(spec), none, none));
    },
    got: topicErrors,
  },
  DeleteTopics: {
    sent: (random) => ({ name: () => randomText(random) }),
    ask: ({ brokers }, { topics, topicNames = topicsIn(topics) }) =>
      errorsOf(changes.deleteTopics(brokers, topicNames)),
    got: topicErrors,
  },
  InitProducerId: {
    sent: () => ({ producerId: -1, producerEpoch: -1 }),
    ask: ({ brokers }) => brokers.ask(initProducerId(null, 60_000, -1n, -1)),
  },
  DescribeConfigs: {
    sent: (random) => ({ resourceType: random.pick([2, 4]), configurationKeys: TOPICS }),
    ask: ({ brokers }, { resources }) => {
      const names = resources.map(({ name }: Fields) => name);
      const query = { kind: resources[0].kind, names, keys: TOPICS };
      return brokers.any((to) => describeConfigs(to, query));
    },
    got: ({ results }) => results,
  },
  DeleteGroups: thrown(
    ({ brokers }, { groupsNames }) => changes.deleteGroup(brokers, groupsNames[0]),
    { sent: () => ({ "groupsNames#": 1 }) },
  ),
  IncrementalAlterConfigs: thrown(
    ({ brokers }, { resources: [{ name, config }] }) =>
      brokers.any((to) => changes.alterAllowed(to, name, valuesIn(config), none, {})),
    { sent: () => ({ "resources#": 1 }) },
  ),
};
