/**
 * Finds sentences that have to be read twice, in pages and in comments of code.
 *
 *   a sentence                                    such as
 *   has an indefinite person or thing in it       "Whoever resumes it", "by whomever"
 *   asks for a person, and is no question         "By whom was asked"
 *   begins with a clause in place of a subject    "What remains is small." "Who asks gets it."
 *
 * Questions may begin so. Fenced code and inline code are not looked at.
 */

const FENCED = /^```[\s\S]*?^```/gm;
const COMMENT = /^\s*(?:\/\*\*?|\*\/?|\/\/)(?:\s|$)/;
const INDEFINITE = /\bwho(?:so|m)?ever\b/i;
const CLAUSE_FIRST = /^(?:What|Who|Whom|Whose|Whatever|By whom)\b/;

/** @param path tells pages from code. */
export function readTwice(path: string, text: string): readonly string[] {
  const prose = path.endsWith(".md") ? text.replace(FENCED, "") : comments(text);
  return sentences(prose).filter(
    (sentence) =>
      INDEFINITE.test(sentence) || (CLAUSE_FIRST.test(sentence) && !sentence.endsWith("?")),
  );
}

/** The comments of code, one paragraph for each block of lines. */
function comments(code: string): string {
  return code
    .split("\n")
    .map((line) => (COMMENT.test(line) ? line.replace(COMMENT, "").replace(/\*\/$/, "") : ""))
    .join("\n");
}

/** Cells of tables, entries of lists and headings are sentences of their own. */
function sentences(prose: string): readonly string[] {
  return prose
    .replace(/`[^`\n]*`/g, "code")
    .replace(/\*\*/g, "")
    .replace(/^\s*(?:[-*>]|\d+\.|#+)\s+/gm, "\n\n")
    .replaceAll("|", "\n\n")
    .replace(/ {3,}/g, "\n\n")
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.replace(/\s+/g, " ").split(/(?<=[.!?:;])\s+/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}
