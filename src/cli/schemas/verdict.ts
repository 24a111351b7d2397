/**
 * Decides what `switchyard schemas` prints about a subject, and what has to be done for the subject.
 *
 *   the subject                              compatibility          to do
 *   has the schema                           BACKWARD_TRANSITIVE    nothing
 *   has the schema                           any other              set the compatibility
 *   does not exist                           any                    register
 *   has only other, compatible schemas       any                    register
 *   has only other, incompatible schemas     any                    rejected
 *   has other schemas, and the registry      any                    register
 *     cannot check this one yet
 *   uses a schema that is not registered     unknown                register
 */

import { COMPATIBILITY } from "../../registry/port.ts";
import type { CheckedSubject, SubjectState } from "../../registry/subjects.ts";

export interface Verdict {
  readonly subject: string;
  readonly says: string;
  readonly action: "nothing" | "do" | "refused";
}

export function verdictOf(subject: string, { state, compatibility }: CheckedSubject): Verdict {
  const isLevel = compatibility === COMPATIBILITY;
  const level = isLevel ? "" : `; its compatibility is ${compatibility ?? "not set"}`;
  const says = `${stateText(state)}${state.kind === "new" ? "" : level}`;
  if (state.kind === "incompatible") return { subject, says, action: "refused" };
  const isDone = state.kind === "registered" && isLevel;
  return { subject, says, action: isDone ? "nothing" : "do" };
}

/** Returns the verdict for a schema that cannot be checked until another schema is registered. */
export function waitingFor(subject: string, used: string): Verdict {
  return {
    subject,
    says: `not checked: it uses ${used}, which is not registered`,
    action: "do",
  };
}

export function stateText(state: SubjectState): string {
  switch (state.kind) {
    case "registered":
      return `registered as version ${state.version}, id ${state.id}`;
    case "new":
      return "new";
    case "compatible":
      return "not registered; compatible with all versions";
    case "unchecked":
      return (
        "not registered; it uses other schemas, so the registry checks its compatibility " +
        "only when it is registered"
      );
    case "incompatible":
      return `incompatible: cannot read what earlier versions wrote${state.why === "" ? "" : `: ${state.why}`}`;
  }
}
