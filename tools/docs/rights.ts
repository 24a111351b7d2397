/**
 * The tables of rights: who needs which, in `docs/operations.md`, and what each is worth to somebody
 * who should not have it, in `SECURITY.md`. `docs/operations.md` has the tested releases of Kafka, too.
 */

import {
  COMMAND_ROLES,
  type Role,
  type RoleName,
  roleOf,
  STAGE_ROLES,
} from "../../src/domain/permissions.ts";
import type { TopicKind } from "../../src/domain/stages.ts";
import { KAFKA_VERSION_DEFAULT } from "../kafka/settings.ts";
import { LINES, TESTS, testedVersions } from "../kafka/tested-versions.ts";
import { code, pageWith, table } from "./page.ts";

/** Complete by their types: a topic without a row here does not compile. */
const NAMES: Readonly<Record<TopicKind, string>> = {
  calls: "calls",
  audienceSyncs: "audience-syncs",
  audienceMembers: "audience-members",
  audiences: "audiences",
  deletionRequests: "deletion-requests",
  deliveries: "deliveries.*",
  retries: "retries.*",
  delays: "delays.*",
  deadLetters: "dead-letters",
  deadLetterReplays: "dead-letter-replays",
  attempts: "attempts",
  operatorEvents: "operator-events",
  operatorActions: "operator-actions",
};

const WORTH: Readonly<Record<TopicKind, readonly [write: string, read: string]>> = {
  calls: [
    "calls in the name of every source, to each destination of it",
    "all personal data of the last seven days",
  ],
  deliveries: [
    "signed webhooks to that destination, and to no other",
    "the calls of that destination",
  ],
  retries: ["the same", "the same, of deliveries that failed"],
  delays: [
    "signed webhooks to every destination of the prefix; many records make the retries of all late",
    "calls of all destinations that failed",
  ],
  deadLetters: [
    "records that a replay would send, by a decision of a person, to any destination of the prefix",
    "calls that were given up",
  ],
  deadLetterReplays: [
    "dead letters left out of a replay that were never replayed, or replayed once more",
    "places and times of dead letters that were replayed",
  ],
  operatorEvents: [
    "false alarms, and true ones kept quiet, for those who go by these events",
    "which destinations fail or are paused, and what is wrong with a configuration",
  ],
  attempts: [
    "a false story of a call, for those who look into its attempts",
    "ids of calls, and how endpoints answer; with `attempts.responseBytes` the head of refused answers",
  ],
  operatorActions: [
    "every destination paused for any length of time, or resumed; waiting deliveries sent early, or turned into dead letters; endpoints kept from requests, or probed too soon, by false news; false alarms about missing routes",
    "which destinations are paused, and by whom; which processes run, and the ids of sources and destinations",
  ],
  audienceSyncs: [
    "members of every audience put in and taken out, and the calls that tell of it; audiences deleted",
    "members of audiences, as platforms state them",
  ],
  audienceMembers: [
    "wrong memberships when the state of an audience is built anew, and so wrong calls",
    "the members of every audience",
  ],
  audiences: [
    "names, keys and held syncs of audiences changed; a key frozen to another one",
    "names and sizes of audiences",
  ],
  deletionRequests: [
    "delete notifications for any user, who also leaves every audience",
    "ids of users who asked to be deleted",
  ],
};

const OTHERS: readonly (readonly [right: string, worth: string])[] = [
  [
    "Read on a group",
    "its partitions taken over, so that a stage stands still; offsets moved, so that records are repeated or left out",
  ],
  ["Delete on a group", "its offsets forgotten: everything that retention left is repeated"],
  ["Create on topics", "topics of the prefix, at most as many as the brokers bear"],
  ["AlterConfigs on topics", "a retention of seconds: all that waits is lost"],
  ["Describe on topics", "ids of destinations, and how much waits for them"],
];

export function renderOperations(): string {
  const row = (name: RoleName, kind: string) => [`${kind} \`${name}\``, ...cells(roleOf(name))];
  const rows = [
    ...STAGE_ROLES.map((name) => row(name, "stage")),
    ["stage `console` with `console.readOnly: false`", ...cells(roleOf("console", true))],
    ...COMMAND_ROLES.map((name) => row(name, "command")),
  ];
  return pageWith("docs/operations.md", {
    rights: table(["Role", "Reads", "Writes", "Groups"], rows),
    "Kafka versions": kafkaVersions(),
  });
}

function kafkaVersions(): string {
  const tested = testedVersions();
  const some = TESTS.map(code).join(", ");
  const rows = LINES.map((line) => [tested[line], some]);
  const all = [[KAFKA_VERSION_DEFAULT, "all, on one broker and on three"], ...rows];
  const ascending = all.sort(([one = ""], [other = ""]) =>
    one.localeCompare(other, "en", { numeric: true }),
  );
  return table(["Kafka", "Integration tests"], ascending);
}

export function renderSecurity(): string {
  const kinds = Object.keys(WORTH) as TopicKind[];
  const rows = kinds.flatMap((kind) => {
    const [write, read] = WORTH[kind];
    return [
      [`Write on \`${NAMES[kind]}\``, write],
      [`Read on \`${NAMES[kind]}\``, read],
    ];
  });
  return pageWith("SECURITY.md", { rights: table(["Right", "Gives"], [...rows, ...OTHERS]) });
}

/** As the group is named, without the prefix. */
function namedGroup(group: string): string {
  return group === "operatorEvents" ? NAMES.operatorEvents : group;
}

function cells({ reads, writes, groups }: Role): readonly string[] {
  const topics = (kinds: readonly TopicKind[]) => kinds.map((kind) => `\`${NAMES[kind]}\``);
  const own = groups.map(
    (group) => `\`${namedGroup(group)}${GROUPS_OF_MANY.includes(group) ? ".*" : ""}\``,
  );
  return [topics(reads), topics(writes), own].map((names) => names.join(", ") || "-");
}

const GROUPS_OF_MANY = ["deliver", "delay", "replay"];
