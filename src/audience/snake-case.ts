/**
 * The trait key of an audience's name: snake_case (docs/audiences.md#names-and-keys).
 *
 *   a word                                         such as              gives
 *   is letters and digits of any script            `Jon's Step 1`       jon_s_step_1
 *     with their combining marks                   `Über Größe`         über_größe
 *   begins at an upper-case letter that follows    `iOS Users`          i_os_users
 *     a lower-case letter
 *   begins at an upper-case letter before a        `VIPCustomers`       vip_customers
 *     lower-case one
 *   does not begin at a digit, nor after one       `2FA Enabled`        2fa_enabled
 *     unless the line before says so               `plan2Premium`       plan2_premium
 *
 * Words are lower-cased without a locale and joined by underscores. Nothing is left of a name
 * without letters and digits: the caller refuses it.
 */

const WORDS = /[\p{L}\p{N}\p{M}]+/gu;
/** Marks stay with their letter, so they are looked past on the way to the letter before. */
const HUMPS = /(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=[\p{L}\p{N}]\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})/gu;
const MARKS_FIRST = /^\p{M}+/u;

/** Empty when the name has no letter and no digit. */
export function snakeCase(name: string): string {
  const words = name.match(WORDS) ?? [];
  return words
    .map((word) => word.replace(MARKS_FIRST, ""))
    .flatMap((word) => word.split(HUMPS))
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase())
    .join("_");
}
