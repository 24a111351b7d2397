import { nearest } from "../../domain/nearest.ts";
import { firstNames } from "./count.ts";

/**
 * Thrown for invalid usage that only the command itself can detect. The program then prints one line and how to get
 * help, and exits with status 2, in the same way as for an invalid option.
 */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

/** @param known the IDs that are accepted. @param also what else does not exist, such as `, and …`. */
export function unknownDestination(id: string, known: readonly string[], also = ""): WrongUsage {
  const similar = nearest(id, known);
  const meant = similar === null ? "" : ` Did you mean ${similar}?`;
  const configured = firstNames(known).join(", ") || "none";
  return new WrongUsage(
    `no destination has the ID "${id}"${also}. Configured: ${configured}.${meant}`,
  );
}

/** Thrown when the problems of a configuration have been printed. The program then exits with status 2. */
export class InvalidConfiguration extends Error {
  override readonly name = "InvalidConfiguration";
}
