/** Actions in words. Pure. */

import type { Action, JobView } from "../action-view.ts";
import { durationText, type StateWords } from "./format.ts";

export function actionText(action: Action): string {
  switch (action.action) {
    case "pause":
      return action.forMs === null ? "Pause" : `Pause for ${durationText(action.forMs)}`;
    case "resume":
      return "Resume";
    case "retry":
      return "Retry now";
    case "wait":
      return "Wait";
    case "cancel":
      return "Cancel";
    case "replay":
      return "Replay of calls";
    case "replay-letters":
      return "Replay of dead letters";
    case "go-on":
      return `Replay ${action.replay}, gone on with`;
    case "approve":
      return `Approval of ${action.audience}`;
  }
}

export function jobWords({ state }: Pick<JobView, "state">): StateWords {
  switch (state) {
    case "running":
      return { tone: "warn", word: "under way" };
    case "done":
      return { tone: "good", word: "done" };
    case "failed":
      return { tone: "bad", word: "failed" };
    case "stopped":
      return { tone: "quiet", word: "stopped" };
  }
}

/** The present words of a job: how far it is, then what it has said. */
export function jobText({ progress, said }: Pick<JobView, "progress" | "said">): string {
  return [...said, ...(progress === "" ? [] : [`${progress} …`])].join(" ");
}

/** The destination that an action is about; null: none, or all. */
export function destinationOf(action: Action): string | null {
  return "destination" in action ? action.destination : null;
}

/** Counts are no changes: the one who asked sees them in the dialog. */
export function isCount(action: Action): boolean {
  return "dryRun" in action && action.dryRun;
}

/** 1 delivery, 1,204 deliveries. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The value of a field for a date and a time, in the zone of the reader. */
export function fieldTime(atMs: number): string {
  const local = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** Of such a field; an empty one means now, by the server's clock. */
export function instantOf(text: string): string | number {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? 0 : new Date(atMs).toISOString();
}
