/**
 * The commit of a group that passes what lies before an offset. Records above it that were finished
 * already, as the metadata says, stay finished.
 */

import type { CommittedOffset } from "../port.ts";
import { Completion } from "./completion.ts";
import { topicIdIn } from "./finished-ranges.ts";

export function passedCommit(committed: CommittedOffset, behind: number): CommittedOffset {
  const { partition, offset, metadata } = committed;
  // The metadata counts only for the topic that it names, and stays with it.
  const topicId = topicIdIn(metadata, offset) ?? "";
  const completion = new Completion({ offset, metadata, topicId, recordsMax: 1 });
  completion.passTo(behind);
  return { partition, offset: completion.position, metadata: completion.metadata() };
}
