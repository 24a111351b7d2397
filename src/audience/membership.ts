/**
 * The value that the store holds of one user in one audience, and how it changes.
 *
 *   written as      means
 *   (nothing)       no member
 *   +               a member
 *   +1z             a member, arrived in the sync that began at offset 1z (base 36)
 *   +1z.7           the same, and its number is 7 (base 36)
 *   +1z.7!k         the same, and judged by the sync awaiting approval that began at k
 *   -1z             no member, but arrived in the sync: seen while an applied record was read
 *                   again, when the user had been forgotten meanwhile
 *
 * A number lets an arrival be one bit (`seen-members.ts`), so that a member who stays is looked up and
 * not written. Numbers start again now and then. Those given in a sync before that count no more.
 *
 *   a user arrives in a sync       reading again   then
 *   no member, not arrived yet     no              member, arrived: entered
 *   no member, not arrived yet     yes             arrived
 *   no member, arrived             no              member: entered
 *   member, not arrived yet        any             arrived
 *   arrived, in other cases        any             nothing
 *
 * The changelog knows `+` and `+!k`. Arrivals and numbers are local.
 */

export interface Membership {
  readonly isMember: boolean;
  /** Offset of the begin of the sync that the user arrived in when this was written; -1: none. */
  readonly mark: number;
  /** -1: none that counts. */
  readonly number: number;
  /** Offset of the begin of the sync awaiting approval that judged the user; -1: none. */
  readonly judged: number;
}

const NOBODY: Membership = { isMember: false, mark: -1, number: -1, judged: -1 };

/** @param numbering offset of the begin that numbers count from (`audience.ts`). */
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

/** Null: there is nothing to keep. */
export function writeMembership({ isMember, mark, number, judged }: Membership): string | null {
  if (!isMember && mark === -1) return null;
  const markText = mark === -1 ? "" : mark.toString(36);
  const numberText = isMember && number !== -1 ? `.${number.toString(36)}` : "";
  const judgedText = isMember && judged !== -1 ? `!${judged.toString(36)}` : "";
  return `${isMember ? "+" : "-"}${markText}${numberText}${judgedText}`;
}

/** The value in the changelog; null for a user that is no member. */
export function durableMembership({ isMember, judged }: Membership): string | null {
  return isMember ? writeMembership({ isMember, mark: -1, number: -1, judged }) : null;
}

/** The numbers of those who have arrived in one sync. */
export interface ArrivedNumbers {
  /** Offset of the sync's begin. */
  readonly begin: number;
  readonly has: (number: number) => boolean;
}

export function hasArrived({ mark, number }: Membership, sync: ArrivedNumbers): boolean {
  return mark === sync.begin || (number !== -1 && sync.has(number));
}

export type Arrival =
  | { readonly kind: "again" }
  /** `next` has no number yet where there was none. */
  | { readonly kind: "arrived" | "entered"; readonly next: Membership; readonly isFirst: boolean };

/**
 * @param isReplay the record was applied before: a user that is no member now was forgotten since.
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
