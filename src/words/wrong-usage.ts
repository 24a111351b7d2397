/**
 * Thrown for invalid usage that only the command itself can detect. The program then prints one line and how to get
 * help, and exits with status 2, in the same way as for an invalid option.
 */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

/** Thrown when the problems of a configuration have been printed. The program then exits with status 2. */
export class InvalidConfiguration extends Error {
  override readonly name = "InvalidConfiguration";
}
