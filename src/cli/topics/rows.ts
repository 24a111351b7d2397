/** The rows of the table that `switchyard topics` prints. */

import { durationText } from "../../settings/scalars.ts";
import type { TopicDifference } from "../../topics/topic-differences.ts";
import type { PlannedKey } from "../../topics/topic-plan.ts";

/** The cells: topic, difference, the cluster's value, the plan's value. */
export function differenceRow(difference: TopicDifference): readonly string[] {
  switch (difference.kind) {
    case "missing": {
      const { name, partitions, replicationFactor, config } = difference.topic;
      const replicas = replicationFactor === null ? "" : `, ${replicationFactor} replicas`;
      const retention = config["retention.ms"];
      const kept =
        retention === undefined ? "compacted" : `kept ${readable("retention.ms", retention)}`;
      return [
        name,
        "missing",
        "-",
        `${partitions} partition${partitions === 1 ? "" : "s"}${replicas}, ${kept}`,
      ];
    }
    case "setting": {
      const { topic, key, actual, planned } = difference;
      return [topic, key, readable(key, actual), readable(key, planned)];
    }
    case "count": {
      const { topic, of, actual, planned } = difference;
      return [topic, `${of} (left)`, `${actual}`, `${planned}`];
    }
    case "offsets": {
      const { topic, retentionMs, offsetsRetentionMs } = difference;
      const offsets = durationText(offsetsRetentionMs);
      const is = Number.isFinite(retentionMs) ? durationText(retentionMs) : "forever";
      return [topic, "kept longer than offsets", is, `offsets.retention.minutes is ${offsets}`];
    }
    case "hidden": {
      const { topic, permission } = difference;
      const is = permission === "Describe" ? "topic not visible" : "settings not visible";
      return [topic, is, "unknown", `requires the permission ${permission} on the topic`];
    }
    case "retired":
      return [difference.topic, "retired delay topic", "drained by run", "not configured"];
    case "orphaned":
      return [difference.topic, "topic without destination", "left", "not configured"];
  }
}

function readable(key: PlannedKey, text: string): string {
  if (text === "") return "not set";
  if (text === "-1") return "no limit";
  if (key.endsWith(".ms") && /^\d+$/.test(text)) return durationText(Number(text));
  return key === "max.message.bytes" ? `${text} bytes` : text;
}
