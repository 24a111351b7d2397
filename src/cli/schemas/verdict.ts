/**
 * The words of `switchyard schemas` about a subject, and whether something is to be done.
 *
 *   the subject                            compatibility          state                       to do
 *   has the schema                         BACKWARD_TRANSITIVE    registered as version 2     nothing
 *   has the schema                         another one            …; is NONE                  set
 *   is not there                           any                    new                         register
 *   has others, this one fits              any                    fits, not registered        register
 *   has others, this one does not fit      any                    does not fit                refused
 *   has others, the registry cannot tell    any                    not registered, unchecked   register
 *   of a schema that uses one that is      -                      uses X, not registered      register
 *     not registered
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

/** Of a schema that cannot be asked about. */
export function waitingFor(subject: string, used: string): Verdict {
  return {
    subject,
    says: `not asked about: it uses ${used}, which is not registered`,
    action: "do",
  };
}

export function stateText(state: SubjectState): string {
  switch (state.kind) {
    case "registered":
      return `registered as version ${state.version}, id ${state.id}`;
    case "new":
      return "not there yet";
    case "compatible":
      return "not registered; it reads what all versions wrote";
    case "unchecked":
      return "not registered; the registry checks it when it is, since it uses others";
    case "incompatible":
      return `does not read what former versions wrote${state.why === "" ? "" : `: ${state.why}`}`;
  }
}
