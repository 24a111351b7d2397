/** What a step of `npm run test:control` expects by the ledger, and what was seen. */

export interface Row {
  readonly step: string;
  readonly about: string;
  readonly expected: string;
  readonly seen: string;
  readonly ok: boolean;
}

/** Of a step that is under way: keeps the rows in their order. */
export class Rows {
  readonly all: Row[] = [];
  readonly #step: string;

  constructor(step: string) {
    this.#step = step;
  }

  /** Both are the same, or the row is not ok. */
  same(about: string, expected: string | number, seen: string | number): void {
    const [wanted, found] = [`${expected}`, `${seen}`];
    this.all.push({
      step: this.#step,
      about,
      expected: wanted,
      seen: found,
      ok: wanted === found,
    });
  }

  /** @param range whose two ends belong to it. */
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

  /** Each of the expected calls is seen once, and no other. */
  calls(about: string, expected: Iterable<string>, seen: readonly string[]): void {
    const { text, isSame } = comparedCalls(new Set(expected), seen);
    const wanted = callCount(new Set(expected).size);
    this.all.push({ step: this.#step, about, expected: wanted, seen: text, ok: isSame });
  }
}

/** @param seen message ids, with repetitions. */
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

const TOLD_MAX = 3;

function reported(what: string, ids: readonly string[]): readonly string[] {
  if (ids.length === 0) return [];
  const more = ids.length > TOLD_MAX ? ", …" : "";
  return [`${ids.length} ${what} (${ids.slice(0, TOLD_MAX).join(", ")}${more})`];
}

function callCount(count: number): string {
  return count === 1 ? "1 call" : `${count} calls`;
}

/** Users whose calls came in another order than they were published in. */
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
