/**
 * `switchyard sign`: the signature that receivers should compute.
 *
 *   the secret comes from                 the body from
 *   --secret, which other users of        FILE, else standard input
 *     the machine can see
 *   --secret-file FILE                    the same
 *   --secret-file -, standard input       FILE alone
 *
 * One line end after a secret in a file or on standard input is not part of it.
 */

import { Command } from "commander";

import { signature } from "../deliver/sign.ts";
import { openInput } from "./input.ts";
import type { ExitStatus, Shell } from "./shell.ts";

interface SignOptions {
  readonly secret?: string;
  readonly secretFile?: string;
}

export function signCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("sign")
    .summary("print the X-Signature of a body")
    .description("Prints the X-Signature of a body: the hex HMAC-SHA1 of its exact bytes.")
    .argument("[file]", "the body; without it, standard input")
    .option("--secret <secret>", "the destination's shared secret; other users can see it")
    .option("--secret-file <file>", "a file with the shared secret; -: standard input")
    .addHelpText(
      "after",
      "\nEvery byte of the body counts, a line feed at the end too. Of a secret that is read, one line\n" +
        "end is left out.\n\nExamples:\n" +
        "  switchyard sign --secret-file secret.txt body.json\n" +
        "  pass show crm | switchyard sign --secret-file - body.json\n" +
        `  printf '{"cool":true}' | switchyard sign --secret abc123`,
    )
    .action(async (file: string | undefined, options: SignOptions) => {
      const usage = usageProblem(file, options);
      const secret = usage === null ? await secretOf(options, shell) : "";
      if (secret === "") {
        const problem = usage ?? "the secret is empty. Give the destination's sharedSecret.";
        shell.err(`error: ${problem}\n`);
        return exit(2);
      }
      shell.out(`${signature(await whole(file, shell), secret)}\n`);
    });
}

function usageProblem(
  file: string | undefined,
  { secret, secretFile }: SignOptions,
): string | null {
  if ((secret === undefined) === (secretFile === undefined)) {
    return "give the shared secret by --secret or by --secret-file.";
  }
  return secretFile === "-" && file === undefined
    ? "standard input is the secret (--secret-file -), so name the file of the body."
    : null;
}

async function secretOf({ secret, secretFile }: SignOptions, shell: Shell): Promise<string> {
  if (secretFile === undefined) return secret ?? "";
  const bytes = await whole(secretFile === "-" ? undefined : secretFile, shell);
  return bytes.toString().replace(/\r?\n$/, "");
}

async function whole(file: string | undefined, shell: Shell): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of openInput(file, shell)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
