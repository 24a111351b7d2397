/**
 * The value that the store holds of one user in one audience, and how it changes.
 *
 *   written as      means
 *   (nothing)       no member
 *   +               a member
 *   +1z             a member, arrived in the sync that began at offset 1z (base 36)
 *   +1z!k           the same, and judged by the held sync that began at offset k
 *   -1z             no member, but arrived in the sync: seen while an applied record was read
 *                   again, when the user had been forgotten meanwhile
 *
 *   a user arrives in a sync       reading again   then
 *   no member, not arrived yet     no              member, arrived: entered
 *   no member, not arrived yet     yes             arrived
 *   no member, arrived             no              member: entered
 *   member, not arrived yet        any             arrived
 *   arrived, in other cases        any             nothing
 *
 * The changelog knows `+` and `+!k`. Arrivals are local.
 */

export interface Membership {
  readonly isMember: boolean;
  /** Offset of the begin of the last sync that the user arrived in; -1: none. */
  readonly mark: number;
  /** Offset of the begin of the held sync that judged the user; -1: none. */
  readonly judged: number;
}

const NOBODY: Membership = { isMember: false, mark: -1, judged: -1 };

export function readMembership(text: string | null): Membership {
  if (text === null) return NOBODY;
  const bang = text.indexOf("!");
  const mark = bang === -1 ? text.slice(1) : text.slice(1, bang);
  return {
    isMember: text[0] === "+",
    mark: mark === "" ? -1 : Number.parseInt(mark, 36),
    judged: bang === -1 ? -1 : Number.parseInt(text.slice(bang + 1), 36),
  };
}

/** Null: there is nothing to keep. */
export function writeMembership({ isMember, mark, judged }: Membership): string | null {
  if (!isMember && mark === -1) return null;
  const markText = mark === -1 ? "" : mark.toString(36);
  const judgedText = isMember && judged !== -1 ? `!${judged.toString(36)}` : "";
  return `${isMember ? "+" : "-"}${markText}${judgedText}`;
}

/** The value in the changelog; null for a user that is no member. */
export function durableMembership({ isMember, judged }: Membership): string | null {
  return isMember ? writeMembership({ isMember, mark: -1, judged }) : null;
}

export type Arrival =
  | { readonly kind: "again" }
  | { readonly kind: "arrived" | "entered"; readonly next: Membership; readonly isFirst: boolean };

/**
 * @param isReplay the record was applied before: a user that is no member now was forgotten since.
 */
export function arrive(now: Membership, begin: number, isReplay: boolean): Arrival {
  const isFirst = now.mark !== begin;
  if (now.isMember) {
    return isFirst
      ? { kind: "arrived", next: { ...now, mark: begin }, isFirst }
      : { kind: "again" };
  }
  if (!isReplay) {
    return { kind: "entered", next: { isMember: true, mark: begin, judged: -1 }, isFirst };
  }
  if (!isFirst) return { kind: "again" };
  return { kind: "arrived", next: { isMember: false, mark: begin, judged: -1 }, isFirst };
}
