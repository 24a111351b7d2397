/**
 * Thrown for invalid usage that only the command itself can detect. As for an invalid option, the program then
 * prints one line and a pointer to the help, and exits with status 2.
 */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}
