/**
 * Creates missing topics and corrects their settings. If the cluster rejects a change, the reason is collected, and
 * the other changes are made.
 */

import type { Admin, RejectedSetting } from "../../kafka/port.ts";
import { asError } from "../../runtime/as-error.ts";
import { sizeText } from "../../settings/scalars.ts";
import type { TopicChange } from "../../topics/topic-differences.ts";
import { table } from "../../words/table.ts";

export interface Applied {
  /** Settings that the cluster does not allow. */
  readonly rejected: readonly RejectedSetting[];
  /** One sentence for each change that failed for another reason. */
  readonly failed: readonly string[];
}

export async function applyChanges(
  changes: readonly TopicChange[],
  admin: Admin,
): Promise<Applied> {
  const rejected: RejectedSetting[] = [];
  const failed: string[] = [];
  const onRejected = (each: RejectedSetting) => void rejected.push(each);
  const onFailed = (error: unknown) => void failed.push(asError(error).message);
  const missing = changes.flatMap((change) => (change.kind === "missing" ? change.topic : []));
  await admin.create(missing, onRejected).catch(onFailed);
  const settings = Map.groupBy(
    changes.filter((change) => change.kind === "setting"),
    ({ topic }) => topic,
  );
  for (const [topic, short] of settings) {
    const config = Object.fromEntries(short.map(({ key, planned }) => [key, planned]));
    const is = Object.fromEntries(short.map(({ key, actual }) => [key, actual]));
    await admin.alterConfig(topic, config, onRejected, is).catch(onFailed);
  }
  return { rejected, failed };
}

/** Returns an empty string if everything was applied. */
export function appliedText({ rejected, failed }: Applied): string {
  const rows = rejected.map(({ topic, setting, planned, instead, error }) => {
    return [topic, setting, planned, instead ?? "nothing", error];
  });
  const header = ["TOPIC", "REJECTED", "PLAN", "SET INSTEAD", "REASON"];
  const parts = rows.length === 0 ? [] : [table(header, rows, (cell) => cell)];
  const sizes = rejected.filter(({ setting }) => setting === "max.message.bytes");
  const found = sizes.flatMap(({ instead }) => (instead === null ? [] : [Number(instead)]));
  if (sizes.length > 0) {
    const most = found.length === 0 ? "the size that it allows" : sizeText(Math.min(...found));
    parts.push(`If the cluster allows no larger records, set kafka.maxMessageBytes to ${most}.`);
  }
  return [...parts, ...failed].map((part) => `${part}\n`).join("");
}
