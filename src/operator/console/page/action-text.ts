/** Formats actions as text. Pure. */

import type { Action, JobView } from "../action-view.ts";
import { durationText, type StateText } from "./format.ts";

export function actionText(action: Action): string {
  switch (action.action) {
    case "pause":
      return action.pauseForMs === null ? "Pause" : `Pause for ${durationText(action.pauseForMs)}`;
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
    case "send-again":
      return "Send again";
    case "replay-dead-letters":
      return "Replay of dead letters";
    case "resume-replay":
      return `Replay ${action.replay}, resumed`;
    case "approve":
      return `Approval of ${action.audience}`;
  }
}

const JOB_STATES: Readonly<Record<JobView["state"], StateText>> = {
  running: { tone: "warn", text: "In progress" },
  done: { tone: "good", text: "Done" },
  failed: { tone: "bad", text: "Failed" },
  stopped: { tone: "quiet", text: "Stopped" },
};

export function jobState({ state }: Pick<JobView, "state">): StateText {
  return JOB_STATES[state];
}

/** The messages that a job has reported so far, followed by its progress. */
export function jobText({ progress, messages }: Pick<JobView, "progress" | "messages">): string {
  return [...messages, ...(progress === "" ? [] : [`${progress} …`])].join(" ");
}

/** The destination that an action applies to; null if it applies to all destinations or to none. */
export function destinationOf(action: Action): string | null {
  return "destination" in action ? action.destination : null;
}

/**
 * Returns true if the job only counts. Such a job changes nothing, and its result is shown only in the dialog that
 * started it.
 */
export function isCount(action: Action): boolean {
  return "dryRun" in action && action.dryRun;
}

/** Formats an instant for a field that contains date and time, in the user's time zone. */
export function fieldTime(atMs: number): string {
  const local = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/**
 * Reads the instant from a field that contains date and time. An empty field means the current time on the server's
 * clock.
 */
export function instantOf(text: string): string | number {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? 0 : new Date(atMs).toISOString();
}
