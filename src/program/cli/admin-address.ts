/**
 * The option `--admin HOST:PORT`. This file is separate from the HTTP client, so that a command's help does not load the
 * client.
 */

import { InvalidArgumentError, Option } from "commander";
import { ADMIN_ADDRESS } from "../../domain/addresses.ts";

/** @param more the rest of the description, such as the default. */
export function adminOption(more = ""): Option {
  const says = `admin port of a process (repeatable, or several separated by commas${more})`;
  return new Option("--admin <host:port>", says).argParser(adminAddress);
}

/** Parses an option that may be repeated or may have several values, separated by commas. */
export function adminAddress(text: string, earlier: readonly string[] = []): readonly string[] {
  const all = text.split(",");
  const wrong = all.find((each) => !ADMIN_ADDRESS.test(each));
  if (wrong === undefined) return [...new Set([...earlier, ...all])];
  throw new InvalidArgumentError(`"${wrong}" is not a HOST:PORT, such as host-1:9464.`);
}
