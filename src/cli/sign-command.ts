/**
 * `switchyard sign`: the signature that receivers should compute.
 *
 *   the secret comes from                 the body from
 *   --secret, which other users of        FILE, else standard input
 *     the machine can see
 *   --secret-file FILE                    the same
 *   --secret-file -, standard input       FILE alone
 *   --secret-env NAME, the environment    FILE, else standard input
 *
 * One line end after a secret in a file, in a variable or on standard input is not part of it.
 */

import { Command } from "commander";

import { withoutNewline } from "../config/secret-file.ts";
import { signature } from "../destinations/webhook/signature.ts";
import type { Shell } from "../operate/connect/shell.ts";
import { WrongUsage } from "../words/wrong-usage.ts";
import { openInput } from "./input.ts";

interface SignOptions {
  readonly secret?: string;
  readonly secretFile?: string;
  readonly secretEnv?: string;
}

export function signCommand(shell: Shell): Command {
  return new Command("sign")
    .summary("print the X-Signature of a body")
    .description("Prints the X-Signature of a body: the hex HMAC-SHA1 of its exact bytes.")
    .argument("[file]", "the body; without it, standard input")
    .option("--secret <secret>", "the destination's shared secret; other users can see it")
    .option("--secret-file <file>", "a file with the shared secret; -: standard input")
    .option("--secret-env <name>", "the environment variable that holds the shared secret")
    .addHelpText(
      "after",
      "\nEvery byte of the body counts, a line feed at the end too. Of a secret that is read, one line\n" +
        "end is left out.\n\nExamples:\n" +
        "  switchyard sign --secret-file secret.txt body.json\n" +
        "  switchyard sign --secret-env CRM_SECRET body.json\n" +
        "  pass show crm | switchyard sign --secret-file - body.json\n" +
        `  printf '{"cool":true}' | switchyard sign --secret abc123`,
    )
    .action(async (file: string | undefined, options: SignOptions) => {
      assertUsage(file, options);
      const secret = await secretOf(options, shell);
      if (secret === "") {
        throw new WrongUsage("the secret is empty. Give the destination's sharedSecret.");
      }
      shell.out(`${signature(await whole(file, shell), secret)}\n`);
    });
}

/** @throws WrongUsage unless there is one secret and room for the body. */
function assertUsage(
  file: string | undefined,
  { secret, secretFile, secretEnv }: SignOptions,
): void {
  const given = [secret, secretFile, secretEnv].filter((each) => each !== undefined);
  if (given.length !== 1) {
    const ways = "--secret-file, --secret-env or --secret";
    throw new WrongUsage(`give the shared secret once, by ${ways}.`);
  }
  if (secretFile === "-" && file === undefined) {
    throw new WrongUsage(
      "standard input is the secret (--secret-file -), so name the file of the body.",
    );
  }
}

async function secretOf(
  { secret, secretFile, secretEnv }: SignOptions,
  shell: Shell,
): Promise<string> {
  if (secretEnv !== undefined) {
    const value = shell.env[secretEnv];
    if (value === undefined) throw new WrongUsage(`the environment has no ${secretEnv}.`);
    return withoutNewline(value);
  }
  if (secretFile === undefined) return secret ?? "";
  const bytes = await whole(secretFile === "-" ? undefined : secretFile, shell);
  return withoutNewline(bytes.toString());
}

async function whole(file: string | undefined, shell: Shell): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of openInput(file, shell)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
