/** `switchyard sign`: the signature that receivers should compute. */

import { Command } from "commander";

import { signature } from "../deliver/sign.ts";
import { openInput } from "./input.ts";
import type { ExitStatus, Shell } from "./shell.ts";

export function signCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("sign")
    .summary("print the X-Signature of a body")
    .description("Prints the X-Signature of a body: the hex HMAC-SHA1 of its exact bytes.")
    .argument("[file]", "the body; without it, standard input")
    .requiredOption("--secret <secret>", "the destination's shared secret")
    .addHelpText(
      "after",
      "\nEvery byte counts, a line feed at the end too.\n\nExamples:\n" +
        "  switchyard sign --secret abc123 body.json\n" +
        `  printf '{"cool":true}' | switchyard sign --secret abc123`,
    )
    .action(async (file: string | undefined, { secret }: { readonly secret: string }) => {
      if (secret === "") {
        shell.err("error: the secret is empty. Give the destination's sharedSecret.\n");
        return exit(2);
      }
      const chunks: Buffer[] = [];
      for await (const chunk of openInput(file, shell)) chunks.push(chunk);
      shell.out(`${signature(Buffer.concat(chunks), secret)}\n`);
    });
}
