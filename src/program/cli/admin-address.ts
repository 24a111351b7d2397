/**
 * Parses `--admin HOST:PORT`. This file is separate from the HTTP client, so that a command's help does not load the
 * client.
 */

import { InvalidArgumentError } from "commander";

import { ADMIN_ADDRESS } from "../../domain/addresses.ts";

/** Parses an option that may be repeated or may have several values, separated by commas. */
export function adminAddress(text: string, earlier: readonly string[] = []): readonly string[] {
  const all = text.split(",");
  const wrong = all.find((each) => !ADMIN_ADDRESS.test(each));
  if (wrong === undefined) return [...new Set([...earlier, ...all])];
  throw new InvalidArgumentError(`"${wrong}" is not a HOST:PORT, such as host-1:9464.`);
}
