/**
 * `switchyard sign`: prints the signature that receivers should compute or, with `--public-key`, the key with which they verify
 * signatures of a destination with `signingKey`.
 *
 *   the secret comes from                 the body comes from
 *   --secret, which other users of        FILE or standard input
 *     the machine can see
 *   --secret-file FILE                    FILE or standard input
 *   --secret-file -, standard input       FILE
 *   --secret-env NAME, the environment    FILE or standard input
 *
 * One line feed after a secret in a file, in a variable or on standard input is not part of the secret.
 */

import { Command } from "commander";
import { unknownDestination, WrongUsage } from "../../base/words/wrong-usage.ts";
import { withoutNewline } from "../../config/secret-file.ts";
import {
  type ConfigOption,
  configOption,
  configured,
} from "../../operator/connect/configuration.ts";
import type { Shell } from "../../operator/connect/shell.ts";
import type { WebhookDestination } from "../../router/destinations/webhook/settings.ts";
import { signature } from "../../router/destinations/webhook/signature.ts";
import { publicKeyTexts } from "../../router/destinations/webhook/signing-key.ts";
import { openInput } from "./input.ts";

interface SignOptions extends ConfigOption {
  readonly publicKey?: boolean;
  readonly destination?: string;
  readonly secret?: string;
  readonly secretFile?: string;
  readonly secretEnv?: string;
}

export function signCommand(shell: Shell): Command {
  return new Command("sign")
    .description(
      "Prints the X-Signature of a request body: the hex HMAC-SHA1 of its exact bytes, keyed with the " +
        "destination's shared secret. With --public-key, prints the public key of the destination's signingKey instead: " +
        "as PEM, as whpk_ and as JWK.",
    )
    .argument("[file]", "file with the body (default: standard input)")
    .option("--secret <secret>", "the shared secret; other users of the machine can see it")
    .option("--secret-file <file>", "file with the shared secret, or - for standard input")
    .option("--secret-env <name>", "environment variable with the shared secret")
    .option("--public-key", "print the public key of the destination's signingKey")
    .option("--destination <id>", "the destination, for --public-key")
    .addOption(configOption())
    .addHelpText(
      "after",
      "\nEvery byte of the body is signed, including a line feed at its end. One line feed after a secret in\n" +
        "a file, in a variable or on standard input is ignored.\n\n" +
        "Exit status: 0 on success; 1 if an input cannot be read; 2 if the usage is invalid.\n\nExamples:\n" +
        "  switchyard sign --secret-file secret.txt body.json\n" +
        "  switchyard sign --secret-env CRM_SECRET body.json\n" +
        "  pass show crm | switchyard sign --secret-file - body.json\n" +
        `  printf '{"cool":true}' | switchyard sign --secret abc123\n` +
        "  switchyard sign --public-key --destination crm --config switchyard.yaml",
    )
    .action(async (file: string | undefined, options: SignOptions) => {
      assertUsage(file, options);
      if (options.publicKey === true) return shell.out(await publicKey(options, shell));
      const secret = await secretOf(options, shell);
      if (secret === "") {
        throw new WrongUsage("the secret is empty. Use the destination's sharedSecret.");
      }
      shell.out(`${signature(await whole(file, shell), secret)}\n`);
    });
}

async function publicKey(options: SignOptions, shell: Shell): Promise<string> {
  const { config } = await configured(options, shell);
  const { destination: id = "" } = options;
  const destination = config.destinations.find((each) => each.id === id);
  if (destination === undefined) {
    throw unknownDestination(
      id,
      config.destinations.map((each) => each.id),
    );
  }
  const { signingKey = null } = destination as Partial<WebhookDestination>;
  if (signingKey === null) throw new WrongUsage(`the destination ${id} has no signingKey.`);
  const { pem, whpk, jwk } = publicKeyTexts(signingKey);
  return `${pem}${whpk}\n${jwk}\n`;
}

/** @throws WrongUsage unless exactly one secret is given and standard input is used for only one purpose. */
function assertUsage(
  file: string | undefined,
  { secret, secretFile, secretEnv, publicKey: isPublic = false, destination }: SignOptions,
): void {
  const given = [secret, secretFile, secretEnv].filter((each) => each !== undefined);
  if (isPublic !== (destination !== undefined)) {
    throw new WrongUsage("--public-key and --destination belong together.");
  }
  if (isPublic && given.length + Number(file !== undefined) > 0) {
    throw new WrongUsage("--public-key signs nothing: omit the file and the secret.");
  }
  if (isPublic) return;
  if (given.length !== 1) {
    const ways = "--secret-file, --secret-env or --secret";
    throw new WrongUsage(`exactly one of ${ways} is required.`);
  }
  if (secretFile === "-" && file === undefined) {
    throw new WrongUsage(
      "a body file is required with --secret-file -, which reads the secret from standard input.",
    );
  }
}

async function secretOf(
  { secret, secretFile, secretEnv }: SignOptions,
  shell: Shell,
): Promise<string> {
  if (secretEnv !== undefined) {
    const value = shell.env[secretEnv];
    if (value === undefined)
      throw new WrongUsage(`the environment variable ${secretEnv} is not set.`);
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
