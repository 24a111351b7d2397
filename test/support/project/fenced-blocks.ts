/**
 * Finds the fenced blocks of a page, and how a reader uses them.
 *
 *   ```js tutorial/receiver.mjs      a file to save
 *   ```sh                            commands to run to their end
 *   ```sh status 1                   commands that end with this exit status
 *   ```sh terminal 1                 a command that keeps running there; `# Ctrl-C` ends the one before
 *   ```text, ```text terminal 1      lines that are printed; `…` stands for anything
 */

export interface FencedBlock {
  readonly language: string;
  /** The text after the language, such as a file's name. */
  readonly info: string;
  readonly text: string;
}

const BLOCK = /^( *)```(\S+) *([^\n]*)\n([\s\S]*?)^\1```$/gm;

/** The blocks with a language, in order. Blocks in a list are returned without its indentation. */
export function fencedBlocks(page: string): readonly FencedBlock[] {
  return [...page.matchAll(BLOCK)].map(
    ([, indentation = "", language = "", info = "", text = ""]) => ({
      language,
      info: info.trim(),
      text: text.replaceAll(new RegExp(`^${indentation}`, "gm"), ""),
    }),
  );
}

/** True if a line of a `text` block is in a line that was printed. */
export function isPrinted(line: string, output: string): boolean {
  const parts = line.split("…");
  return output.split("\n").some((printed) => hasInOrder(printed, parts));
}

function hasInOrder(printed: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = printed.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}
