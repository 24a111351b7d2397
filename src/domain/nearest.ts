/** Finds the name that a misspelled one was most likely meant to be, for messages such as "did you mean". */

/** No setting or function has a name longer than this. */
const NAME_CHARACTERS_MAX = 40;

/** Returns null if no known name is similar enough. @param part how much of the name may be wrong. */
export function nearest(name: string, known: readonly string[], part = 1 / 3): string | null {
  const lower = name.slice(0, NAME_CHARACTERS_MAX).toLowerCase();
  const distances = known.map((candidate) => ({
    candidate,
    edits: editDistance(lower, candidate.toLowerCase()),
  }));
  const best = distances.toSorted((a, b) => a.edits - b.edits)[0];
  return best !== undefined && best.edits <= Math.max(part < 1 / 3 ? 0 : 1, lower.length * part)
    ? best.candidate
    : null;
}

/** The number of insertions, deletions and replacements that turn one string into the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
