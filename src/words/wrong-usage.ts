/**
 * Invalid usage that only the command itself can detect. Like an invalid option, it prints one line
 * and a pointer to the help, and the exit status is 2.
 */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}
