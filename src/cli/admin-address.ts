/** `--admin HOST:PORT`, apart from the asking, so that a command's help need not load HTTP. */

import { InvalidArgumentError } from "commander";

import { ADMIN_ADDRESS } from "../domain/addresses.ts";

/** Of an option that may be repeated, or take several with commas, such as `--admin`. */
export function adminAddress(text: string, earlier: readonly string[] = []): readonly string[] {
  const all = text.split(",");
  const wrong = all.find((each) => !ADMIN_ADDRESS.test(each));
  if (wrong === undefined) return [...new Set([...earlier, ...all])];
  throw new InvalidArgumentError(`"${wrong}" is no HOST:PORT, such as host-1:9464.`);
}
