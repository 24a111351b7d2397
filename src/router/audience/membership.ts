/**
 * Reads, writes and changes the stored value of one user in one audience.
 *
 *   written as      means
 *   (nothing)       not a member
 *   +               a member
 *   +1z             a member, arrived in the sync that began at offset 1z (base 36)
 *   +1z.7           the same, and its number is 7 (base 36)
 *   +1z.7!k         the same, and would be removed by the sync awaiting approval that began at k
 *   -1z             not a member, but arrived in the sync: the user was forgotten or is suppressed
 *
 * If a member has a number, the arrival of the member is stored as a single bit (`seen-members.ts`), so a member who
 * arrives again is looked up, but not written. When the numbering is restarted, numbers from earlier syncs become
 * invalid.
 *
 *   a user arrives in a sync       replay   then
 *   not a member, not arrived      no       becomes a member, arrived: entered
 *   not a member, not arrived      yes      arrived
 *   not a member, arrived          no       becomes a member: entered
 *   member, not arrived            any      arrived
 *   any other                      any      nothing
 *
 *   a suppressed user arrives      then
 *   member                         is not a member any more, without a call; arrived
 *   not a member, not arrived      arrived, so that the sync's count matches
 *   not a member, arrived          nothing
 *
 * The changelog contains only `+` and `+!k`. Arrivals and numbers are stored only locally.
 */

export interface Membership {
  readonly isMember: boolean;
  /**
   * Offset of the `begin` record of the last sync that contained the user when this was written; -1 if there was none.
   */
  readonly mark: number;
  /** -1 if there is no valid number. */
  readonly number: number;
  /** Offset of the `begin` record of the sync that awaits approval and would remove the user; -1 if there is none. */
  readonly judged: number;
}

const NOBODY: Membership = { isMember: false, mark: -1, number: -1, judged: -1 };

/** @param numbering numbers from syncs before this offset are invalid (`audience.ts`). */
export function readMembership(text: string | null, numbering: number): Membership {
  if (text === null) return NOBODY;
  const bang = text.indexOf("!");
  const point = text.indexOf(".");
  const end = bang === -1 ? text.length : bang;
  const mark = offsetIn(text, 1, point === -1 ? end : point);
  return {
    isMember: text[0] === "+",
    mark,
    number: point === -1 || mark < numbering ? -1 : offsetIn(text, point + 1, end),
    judged: bang === -1 ? -1 : offsetIn(text, bang + 1, text.length),
  };
}

function offsetIn(text: string, from: number, to: number): number {
  return from === to ? -1 : Number.parseInt(text.slice(from, to), 36);
}

/** Returns null if nothing has to be stored. */
export function writeMembership({ isMember, mark, number, judged }: Membership): string | null {
  if (!isMember && mark === -1) return null;
  const markText = mark === -1 ? "" : mark.toString(36);
  const numberText = isMember && number !== -1 ? `.${number.toString(36)}` : "";
  const judgedText = isMember && judged !== -1 ? `!${judged.toString(36)}` : "";
  return `${isMember ? "+" : "-"}${markText}${numberText}${judgedText}`;
}

/** The value in the changelog; null for a user who is not a member. */
export function durableMembership({ isMember, judged }: Membership): string | null {
  return isMember ? writeMembership({ isMember, mark: -1, number: -1, judged }) : null;
}

export interface ArrivedNumbers {
  /** Offset of the sync's `begin` record. */
  readonly begin: number;
  readonly has: (number: number) => boolean;
}

export function hasArrived({ mark, number }: Membership, sync: ArrivedNumbers): boolean {
  return mark === sync.begin || (number !== -1 && sync.has(number));
}

/** The membership of a user who has arrived, and is forgotten or suppressed. */
export function onlyArrived({ begin }: ArrivedNumbers): Membership {
  return { ...NOBODY, mark: begin };
}

export type Arrival =
  | { readonly kind: "again" }
  /** If the user had no number, `next` does not have one either. */
  | { readonly kind: "arrived" | "entered"; readonly next: Membership; readonly isFirst: boolean };

/**
 * @param isReplay true if the record was applied before. If the user is not a member now, the user has been
 *   forgotten since then.
 */
export function arrive(now: Membership, sync: ArrivedNumbers, isReplay: boolean): Arrival {
  const isFirst = !hasArrived(now, sync);
  const mark = sync.begin;
  if (now.isMember) {
    return isFirst ? { kind: "arrived", next: { ...now, mark }, isFirst } : { kind: "again" };
  }
  if (!isReplay) {
    return { kind: "entered", next: { ...NOBODY, isMember: true, mark }, isFirst };
  }
  if (!isFirst) return { kind: "again" };
  return { kind: "arrived", next: { ...NOBODY, mark }, isFirst };
}
