/** `docs/connect.md`: the permissions of each role, and the tested releases of Kafka. */

import type { DestinationId } from "../../src/domain/ids.ts";
import { COMMAND_ROLES, type Role, type RoleName, roleOf } from "../../src/domain/permissions.ts";
import { STAGE_NAMES, type TopicKind } from "../../src/domain/stages.ts";
import { topicNames } from "../../src/domain/topics.ts";
import { KAFKA_VERSION_DEFAULT } from "../kafka/settings.ts";
import { LINES, TESTS, testedVersions } from "../kafka/tested-versions.ts";
import { code, pageWith, table } from "./page.ts";

const TOPICS = topicNames("");

/** Returns the topic's name without the prefix; all topics of a kind are `<kind>.*`. */
function nameOf(kind: TopicKind): string {
  if (kind === "delays") return "delays.*";
  const name = TOPICS[kind];
  return typeof name === "string" ? name : name("*" as DestinationId);
}

export function renderConnect(): string {
  const row = (name: RoleName, kind: string) => [`${kind} \`${name}\``, ...cells(roleOf(name))];
  const rows = [
    ...STAGE_NAMES.map((name) => row(name, "stage")),
    ["stage `console` with `console.readOnly: false`", ...cells(roleOf("console", true))],
    ...COMMAND_ROLES.map((name) => row(name, "command")),
  ];
  return pageWith("docs/connect.md", {
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

/** Returns the name of the group without the prefix. */
function namedGroup(group: string): string {
  return group === "operatorEvents" ? TOPICS.operatorEvents : group;
}

function cells({ reads, writes, groups }: Role): readonly string[] {
  const topics = (kinds: readonly TopicKind[]) => kinds.map((kind) => `\`${nameOf(kind)}\``);
  const own = groups.map(
    (group) => `\`${namedGroup(group)}${GROUPS_OF_MANY.includes(group) ? ".*" : ""}\``,
  );
  return [topics(reads), topics(writes), own].map((names) => names.join(", ") || "-");
}

const GROUPS_OF_MANY = ["deliver", "delay", "replay"];
