/**
 * Reads the content of a file that `${file:/path}` names; the content replaces the reference.
 *
 *   the file                            result
 *   cannot be read, or is not a file    a problem
 *   larger than 1 MiB                   a problem
 *   bytes that are not UTF-8            a problem: decoding would change the secret
 *   empty, or only a newline            a problem: another program has not written it yet
 *   ends in \n or \r\n                  its text without that one newline
 *   anything else                       its text
 *
 * Messages contain the reference, and never the content.
 */

import { isUtf8 } from "node:buffer";

import type { FileBytes } from "../base/settings/config-path.ts";
import type { Problem } from "../base/settings/problem.ts";

export const SECRET_FILE_BYTES_MAX = 1_048_576;

type SecretText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "problem"; readonly problem: Omit<Problem, "path"> };

/** @param written the reference as it is in the configuration. */
export function secretText(written: string, file: FileBytes): SecretText {
  const problem = (found: string, expected: string, hint: string): SecretText => {
    return { kind: "problem", problem: { found: `${written}, ${found}`, expected, hint } };
  };
  if (file.kind === "unreadable") {
    const hint = "a relative path is resolved against the folder of the configuration file";
    return problem(`which cannot be read: ${file.why}`, "a file that can be read", hint);
  }
  const { bytes } = file;
  if (bytes.length > SECRET_FILE_BYTES_MAX) {
    const hint = "put only the value into the file";
    return problem("a larger file", "a file of at most 1 MiB", hint);
  }
  if (!isUtf8(bytes)) {
    const hint = "save the file as UTF-8; random bytes can be written in base64 or hex";
    return problem("bytes that are not UTF-8", "text in UTF-8", hint);
  }
  const text = withoutNewline(bytes.toString());
  if (text !== "") return { kind: "text", text };
  const hint = "write the value into it, or remove the setting if there is no value";
  return problem("an empty file", "a file with a value", hint);
}

/** Removes one newline at the end, which editors and `echo` write. */
export function withoutNewline<Text extends string | undefined>(given: Text): string | Text {
  return given?.replace(/\r?\n$/, "") ?? given;
}
