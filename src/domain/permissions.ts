/**
 * The minimum Kafka permissions that each role needs. A role is a stage, or a command that operators run.
 * `switchyard acls` prints the permissions, `docs/connect.md` and `SECURITY.md` show them, and a test runs every
 * role on a broker that grants exactly these permissions.
 *
 *   permission      operations that Kafka checks for it
 *   read, write     Read, Write on the topic
 *   groups          Read on the group; `audience-admin` only describes it
 *   every role      Describe on all topics of the prefix: a process waits until all of them exist
 *   create topics   Create on the topics of the prefix
 *
 * For topics that exist per destination or per retry delay, permissions are granted for the common prefix of the
 * topics' names, so that a new destination needs no new permission.
 */

import type { DestinationId } from "./ids.ts";
import { STAGE_NAMES, STAGES, type StageInput, type StageName, type TopicKind } from "./stages.ts";
import { delayName, type GroupNames, type TopicNames } from "./topics.ts";

export type CommandRole =
  | "topics"
  | "publish"
  | "audience-admin"
  | "delete"
  | "suppressions"
  | "status"
  | "control"
  | "replay"
  | "timeline"
  | "audit"
  | "skip-corrupt-batch";
export type RoleName = StageName | CommandRole;

export interface Role {
  readonly reads: readonly TopicKind[];
  readonly writes: readonly TopicKind[];
  readonly groups: readonly (keyof GroupNames)[];
}

/** Topics that `status` and the console read. */
const LOOKED_AT = [
  "calls",
  "audienceSyncs",
  "deletionRequests",
  "deliveries",
  "retries",
  "delays",
  "deadLetters",
  "deadLetterReplays",
] as const satisfies readonly TopicKind[];

/** Topics to which a replay writes. */
const REPLAYED = [
  "calls",
  "deletionRequests",
  "audienceSyncs",
  "deliveries",
  "retries",
  "delays",
  "deadLetterReplays",
  "order",
  "ledger",
] as const satisfies readonly TopicKind[];

/** Topics and groups that a stage needs in addition to its input. */
const BESIDE: Readonly<Record<StageName, Pick<Role, "reads" | "writes"> & Partial<Role>>> = {
  ingest: { reads: ["suppressions"], writes: ["calls", "operatorActions"] },
  route: {
    reads: ["operatorActions", "suppressions"],
    writes: ["deliveries", "delays", "deadLetters", "operatorActions", "suppressions", "ledger"],
  },
  audience: {
    reads: ["audienceMembers", "audiences", "operatorEvents", "suppressions"],
    writes: [
      "calls",
      "audienceSyncs",
      "audienceMembers",
      "audiences",
      "deadLetters",
      "operatorEvents",
      "operatorActions",
    ],
    groups: ["operatorEvents"],
  },
  deletion: {
    reads: ["operatorActions"],
    writes: [
      "deliveries",
      "audienceSyncs",
      "delays",
      "deadLetters",
      "operatorActions",
      "suppressions",
      "ledger",
    ],
  },
  deliver: {
    reads: ["order", "operatorActions", "operatorEvents", "suppressions"],
    writes: [
      "delays",
      "deadLetters",
      "attempts",
      "order",
      "operatorActions",
      "operatorEvents",
      "ledger",
    ],
    groups: ["operatorEvents"],
  },
  delay: {
    reads: ["operatorActions", "operatorEvents", "suppressions"],
    writes: [
      "deliveries",
      "retries",
      "delays",
      "deadLetters",
      "order",
      "operatorActions",
      "operatorEvents",
      "ledger",
    ],
    groups: ["operatorEvents"],
  },
  // The permissions of `status` and `timeline`, and those for reading audiences. The role does not join a group.
  console: {
    reads: [...LOOKED_AT, "audiences", "attempts", "operatorActions", "suppressions", "order"],
    writes: [],
  },
};

/**
 * The additional permissions of a console in which operators may act: those of the roles `control` and `replay`, and
 * the permission to approve a sync.
 */
const ACTING: Role = {
  reads: [],
  writes: ["operatorActions", ...REPLAYED],
  groups: ["replay"],
};

const COMMANDS: Readonly<Record<CommandRole, Role>> = {
  topics: { reads: [], writes: [], groups: [] },
  publish: { reads: ["suppressions"], writes: ["calls"], groups: [] },
  "audience-admin": {
    reads: ["audienceSyncs", "audiences", "audienceMembers"],
    writes: ["audienceSyncs"],
    groups: ["audience"],
  },
  delete: { reads: [], writes: ["deletionRequests"], groups: [] },
  suppressions: {
    reads: ["suppressions"],
    writes: ["suppressions", "deletionRequests"],
    groups: [],
  },
  status: {
    reads: [...LOOKED_AT, "operatorActions"],
    writes: [],
    groups: [],
  },
  control: {
    reads: ["operatorActions", "deliveries", "retries", "delays"],
    writes: ["operatorActions"],
    groups: [],
  },
  replay: {
    reads: ["deadLetters", "deadLetterReplays", "calls", "suppressions"],
    writes: REPLAYED,
    groups: ["replay"],
  },
  timeline: {
    reads: [
      ...(["calls", "deliveries", "retries", "delays", "deadLetters"] as const),
      ...(["attempts", "suppressions", "order"] as const),
    ],
    writes: [],
    groups: [],
  },
  audit: {
    reads: ["ledger", "calls", "deletionRequests", "deliveries", "retries", "delays"],
    writes: [],
    groups: [],
  },
  // The command reads the batch at which a stage halted, and changes the offset of that stage's group.
  "skip-corrupt-batch": {
    reads: ["calls", "audienceSyncs", "deletionRequests", "deliveries", "retries", "delays"],
    writes: [],
    groups: ["route", "audience", "deletion", "deliver", "delay"],
  },
};

export const COMMAND_ROLES = Object.keys(COMMANDS) as readonly CommandRole[];
export const ROLE_NAMES: readonly RoleName[] = [...STAGE_NAMES, ...COMMAND_ROLES];

/** @param acts if `true`, operators may act in the console (`console.readOnly: false`) */
export function roleOf(name: RoleName, acts = false): Role {
  if (!isStage(name)) return COMMANDS[name];
  const { reads, writes, groups = [] } = BESIDE[name];
  if (name === "console" && acts) return { ...ACTING, reads: [...reads, ...ACTING.reads] };
  const input: StageInput | null = STAGES[name].input;
  if (input === null) return { reads, writes, groups };
  const passing = input.per === "destination" ? [input.passing] : [];
  return { reads: [input.topic, ...passing, ...reads], writes, groups: [input.group, ...groups] };
}

function isStage(name: RoleName): name is StageName {
  return name in STAGES;
}

export type Operation =
  | "Read"
  | "Write"
  | "Describe"
  | "Create"
  | "Delete"
  | "DescribeConfigs"
  | "AlterConfigs"
  | "IdempotentWrite";

/** One entry of an access control list: the role may perform these operations on these resources. */
export interface Grant {
  readonly on: "topic" | "group" | "cluster";
  /** Names or prefixes of names, depending on the pattern; empty for the cluster. */
  readonly names: readonly string[];
  readonly pattern: "literal" | "prefixed";
  readonly operations: readonly Operation[];
}

export interface Rules {
  /** If `true`, processes create missing topics themselves. */
  readonly makesTopics: boolean;
  /** If `true`, operators may act in the console. */
  readonly acts: boolean;
}

/** Roles that read the committed offsets of all groups. */
const LOOKERS: readonly RoleName[] = ["console", "status", "control", "timeline", "audit"];

export function grantsOf(
  name: RoleName,
  topics: TopicNames,
  groups: GroupNames,
  { makesTopics, acts }: Rules,
): readonly Grant[] {
  const { reads, writes, groups: read } = roleOf(name, acts);
  const ofAll: Operation[] = ["Describe"];
  if (name === "topics") ofAll.push("Create", "DescribeConfigs", "AlterConfigs");
  else if (makesTopics && isStage(name)) ofAll.push("Create");
  const patterns = (kinds: readonly TopicKind[]) => kinds.map((kind) => topicPattern(topics, kind));
  const grants = [
    ...grant("topic", allTopics(topics), ofAll),
    ...grant("topic", patterns(reads), ["Read"]),
    ...grant("topic", patterns(writes), ["Write"]),
    ...grant(
      "group",
      read.map((kind) => groupPattern(groups, kind)),
      groupOperations(name),
    ),
  ];
  if (LOOKERS.includes(name))
    grants.push(...grant("group", [prefixed(topics.prefix)], ["Describe"]));
  if (name === "topics") grants.push({ ...CLUSTER, operations: ["DescribeConfigs"] });
  return grants;
}

const CLUSTER = { on: "cluster", names: [], pattern: "literal" } as const;

function groupOperations(name: RoleName): readonly Operation[] {
  if (name === "audience-admin") return ["Describe"];
  return name === "replay" || name === "console" ? ["Read", "Delete"] : ["Read"];
}

interface NamePattern {
  readonly name: string;
  readonly pattern: Grant["pattern"];
}

const NONE = "" as DestinationId;

function topicPattern(topics: TopicNames, kind: TopicKind): NamePattern {
  if (kind === "deliveries" || kind === "retries" || kind === "order")
    return prefixed(topics[kind](NONE));
  if (kind !== "delays") return literal(topics[kind]);
  return prefixed(topics.delays(1).slice(0, -delayName(1).length));
}

function groupPattern(groups: GroupNames, kind: keyof GroupNames): NamePattern {
  // The owner of a replay ends the group's name with a suffix.
  const group = kind === "replayOwner" ? groups.replay : groups[kind];
  return typeof group === "string" ? literal(group) : prefixed(group(NONE));
}

/** Topics with configured names are listed separately, because their names need not start with the prefix. */
function allTopics(topics: TopicNames): readonly NamePattern[] {
  const { prefix, calls, audienceSyncs, deletionRequests } = topics;
  const own = [calls, audienceSyncs, deletionRequests].filter((name) => !name.startsWith(prefix));
  return [prefixed(prefix), ...own.map(literal)];
}

function literal(name: string): NamePattern {
  return { name, pattern: "literal" };
}

/** If the prefix is empty, this matches every name. */
function prefixed(name: string): NamePattern {
  return name === "" ? literal("*") : { name, pattern: "prefixed" };
}

/** Creates one grant for each pattern. A grant may cover several names. */
function grant(
  on: "topic" | "group",
  patterns: readonly NamePattern[],
  operations: readonly Operation[],
): readonly Grant[] {
  return (["literal", "prefixed"] as const).flatMap((pattern) => {
    const names = patterns.filter((each) => each.pattern === pattern).map(({ name }) => name);
    return names.length === 0 ? [] : [{ on, names, pattern, operations }];
  });
}
