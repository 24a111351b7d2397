/**
 * Derives the key of a trait from an audience's name, by converting the name to snake_case
 * (docs/audiences.md#names-and-keys).
 *
 *   a word                                         such as              gives
 *   consists of letters and digits of any script   `Jon's Step 1`       jon_s_step_1
 *     with their combining marks                   `Über Größe`         über_größe
 *   begins at an upper-case letter that follows    `iOS Users`          i_os_users
 *     a lower-case letter
 *   begins at an upper-case letter before a        `VIPCustomers`       vip_customers
 *     lower-case one
 *   does not begin at a digit, and after one it   `2FA Enabled`        2fa_enabled
 *     begins only by the previous rule             `plan2Premium`       plan2_premium
 *
 * Words are converted to lower case without a locale and joined by underscores. If a name has no letters or digits, the
 * result is empty, and the caller rejects the name.
 */

const WORDS = /[\p{L}\p{N}\p{M}]+/gu;
/** Combining marks belong to the letter before them, so the expression skips the marks to examine that letter. */
const HUMPS = /(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=[\p{L}\p{N}]\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})/gu;
const MARKS_FIRST = /^\p{M}+/u;

/** Returns an empty string if the name has neither letters nor digits. */
export function snakeCase(name: string): string {
  const words = name.match(WORDS) ?? [];
  return words
    .map((word) => word.replace(MARKS_FIRST, ""))
    .flatMap((word) => word.split(HUMPS))
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase())
    .join("_");
}
