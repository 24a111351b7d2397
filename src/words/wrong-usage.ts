/**
 * Thrown for invalid usage that only the command itself can detect. The program then prints one line and a pointer to
 * the help, and exits with status 2, as for an invalid option.
 */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}
