/** What a step of `npm run test:control` expects according to the ledger, and what was observed. */

export interface Row {
  readonly step: string;
  readonly about: string;
  readonly expected: string;
  readonly seen: string;
  readonly ok: boolean;
}

/** Collects the rows of a step in progress, in order. */
export class Rows {
  readonly all: Row[] = [];
  readonly #step: string;

  constructor(step: string) {
    this.#step = step;
  }

  /** Adds a row that is ok if both values are the same. */
  same(about: string, expected: string | number, seen: string | number): void {
    const [wanted, found] = [`${expected}`, `${seen}`];
    this.all.push({ step: this.#step, about, expected: wanted, seen: found, ok: wanted === found });
  }

  /** @param range both ends are included. */
  within(about: string, [from, to]: readonly [number, number], seen: number): void {
    const expected = from === to ? `${from}` : `${from} to ${to}`;
    this.all.push({
      step: this.#step,
      about,
      expected,
      seen: `${seen}`,
      ok: seen >= from && seen <= to,
    });
  }

  /** Adds a row that is ok if each expected call was seen once, and no other call was seen. */
  calls(about: string, expected: Iterable<string>, seen: readonly string[]): void {
    const { text, isSame } = comparedCalls(new Set(expected), seen);
    const wanted = callCount(new Set(expected).size);
    this.all.push({ step: this.#step, about, expected: wanted, seen: text, ok: isSame });
  }
}

/** @param seen message IDs, including repetitions. */
export function comparedCalls(
  expected: ReadonlySet<string>,
  seen: readonly string[],
): { readonly text: string; readonly isSame: boolean } {
  const distinct = new Set(seen);
  const missing = [...expected].filter((id) => !distinct.has(id));
  const unexpected = [...distinct].filter((id) => !expected.has(id));
  const before = new Set<string>();
  const repeated = seen.filter((id) => before.size === before.add(id).size);
  const parts = [
    callCount(distinct.size),
    ...reported("missing", missing),
    ...reported("not expected", unexpected),
    ...reported("more than once", [...new Set(repeated)]),
  ];
  return { text: parts.join("; "), isSame: parts.length === 1 };
}

const SHOWN_MAX = 3;

function reported(what: string, ids: readonly string[]): readonly string[] {
  if (ids.length === 0) return [];
  const more = ids.length > SHOWN_MAX ? ", …" : "";
  return [`${ids.length} ${what} (${ids.slice(0, SHOWN_MAX).join(", ")}${more})`];
}

function callCount(count: number): string {
  return count === 1 ? "1 call" : `${count} calls`;
}

/** Returns users whose calls arrived in a different order from that in which they were published. */
export function usersOutOfOrder(
  published: readonly { readonly id: string; readonly user: string }[],
  arrived: readonly { readonly id: string; readonly user: string }[],
): readonly string[] {
  const placeOf = new Map(published.map(({ id }, place) => [id, place]));
  const last = new Map<string, number>();
  const wrong = new Set<string>();
  for (const { id, user } of arrived) {
    const place = placeOf.get(id) ?? -1;
    if (place < (last.get(user) ?? -1)) wrong.add(user);
    last.set(user, place);
  }
  return [...wrong];
}
