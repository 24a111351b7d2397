import { type Admin, MissingPermissionError } from "../kafka/port.ts";

/**
 * Those of the topics that do not exist.
 *
 * @throws MissingPermissionError when the brokers do not show some of them: whether they exist is then
 *   not known, and making them helps nobody.
 */
export async function missingTopics(
  admin: Pick<Admin, "topics" | "assertVisible">,
  names: readonly string[],
): Promise<readonly string[]> {
  const existing = new Set(await admin.topics());
  const missing = [...new Set(names)].filter((name) => !existing.has(name));
  if (missing.length > 0) await admin.assertVisible(missing);
  return missing;
}

/** The way to end a wait for topics. @param error why they are not there, or not known to be; null: they are missing. */
export function topicsFix(error: Error | null): string {
  return error instanceof MissingPermissionError ? error.message : "switchyard topics --apply";
}
