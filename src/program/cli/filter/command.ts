/** `switchyard filter try`: shows which calls an expression of the filter language matches, and why. */

import { Command } from "commander";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import { jsonObjectIn } from "../../../domain/json.ts";
import type { Shell } from "../../../operator/connect/shell.ts";
import {
  type CallValue,
  type CompiledExpression,
  compileFilter,
  filterProblem,
} from "../../../router/rules/fql/compile.ts";
import { LINE_MAX_BYTES, linesOf, openInput } from "../input.ts";

const SHOWN_CHARACTERS_MAX = 80;

type Filter = Extract<CompiledExpression, { readonly kind: "filter" }>;

export function filterCommand(shell: Shell): Command {
  return new Command("filter")
    .description(
      "Tests expressions of the filter language, which filters and mappings use in `if`.",
    )
    .addCommand(tryCommand(shell));
}

function tryCommand(shell: Shell): Command {
  return new Command("try")
    .summary("show which calls an expression matches, and why")
    .description(
      "Shows for each call whether the expression matches it, and the value of each term of the " +
        "expression. Does not connect to Kafka, and reads no configuration.",
    )
    .argument("<expression>", "expression of the filter language")
    .argument("[file]", "file with calls, one JSON object per line (default: standard input)")
    .option("--json", "print one JSON object per call")
    .addHelpText(
      "after",
      "\nExit status: 0 on success; 1 if the input cannot be read; 2 if the expression is invalid.\n\nExamples:\n" +
        `  switchyard filter try "type = 'track' and match(event, 'Order *')" calls.jsonl\n` +
        `  echo '{"type":"track","event":"Ping"}' | switchyard filter try "event = 'Ping'" --json`,
    )
    .action(
      async (text: string, file: string | undefined, options: { readonly json?: boolean }) => {
        const filter = compileFilter(text);
        if (filter.kind === "invalid") throw new WrongUsage(`expression, ${filterProblem(filter)}`);
        for (const warning of filter.warnings) {
          shell.err(`${shell.errColors.yellow("warning:")} ${warning}\n`);
        }
        shell.onlyPrints();
        for await (const lines of linesOf(openInput(file, shell), LINE_MAX_BYTES)) {
          for (const { number, bytes } of lines) {
            const call = bytes === null ? null : callIn(bytes);
            const tried = { line: number, ...(call === null ? NO_CALL : triedOn(call, filter)) };
            shell.out(options.json === true ? `${JSON.stringify(tried)}\n` : textOf(tried, shell));
          }
        }
      },
    );
}

interface TriedTerm {
  readonly term: string;
  /** Null if the value is null or absent. */
  readonly value: unknown;
  /** The parts of the call that the term reads. */
  readonly reads: Readonly<Record<string, unknown>>;
  /** True if an operand of `and`, `or` or `!` in the term is neither a boolean nor null. */
  readonly isInvalid: boolean;
}

type Tried =
  | { readonly error: string }
  | { readonly matches: boolean; readonly terms: readonly TriedTerm[] };

const NO_CALL: Tried = {
  error: `the line is not a JSON object of at most ${LINE_MAX_BYTES} bytes`,
};

function callIn(bytes: Buffer): CallValue | null {
  // The decoder skips a byte-order mark.
  const json = jsonObjectIn(new TextDecoder().decode(bytes));
  return json === null ? null : { json, bytes };
}

function triedOn(call: CallValue, { matches, terms }: Filter): Tried {
  return {
    matches: matches(call),
    terms: terms.map(({ text, value, paths }) => {
      const result = value(call);
      return {
        term: text,
        value: result ?? null,
        reads: Object.fromEntries(paths.map((path) => [path.text, path.value(call)])),
        isInvalid: result === undefined,
      };
    }),
  };
}

function textOf(tried: Tried & { readonly line: number }, { colors }: Shell): string {
  if ("error" in tried) return `line ${tried.line}  ${colors.red(tried.error)}\n`;
  const verdict = tried.matches ? colors.green("matches") : colors.dim("does not match");
  const terms = tried.terms.map((term) => `  ${termText(term)}\n`).join("");
  return `line ${tried.line}  ${verdict}\n${terms}`;
}

function termText({ term, value, reads, isInvalid }: TriedTerm): string {
  const isUsable = !isInvalid && (value === null || typeof value === "boolean");
  const result = isInvalid ? "invalid" : shown(value);
  const why = isUsable ? "" : ", which is neither a boolean nor null";
  const read = Object.entries(reads).map(([path, of]) => `${path} is ${shown(of)}`);
  const seen = read.length === 0 ? "" : `  (${read.join(", ")})`;
  return `${term.replaceAll(/\s+/g, " ")}: ${result}${why}${seen}`;
}

function shown(value: unknown): string {
  const json = JSON.stringify(value);
  const start = [...json.slice(0, 2 * SHOWN_CHARACTERS_MAX)]
    .slice(0, SHOWN_CHARACTERS_MAX)
    .join("");
  return start === json ? json : `${start}…`;
}
