/**
 * Wrong usage that a command finds out by itself. The program answers with one line and with where
 * the help is, as to wrong options, and ends with status 2.
 */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}
