import { type Admin, MissingPermissionError } from "../kafka/port.ts";

/**
 * Returns the topics that do not exist.
 *
 * @throws MissingPermissionError if the brokers hide some of them: it is then unknown if they exist,
 *   and creating them does not help.
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

/** How to end a wait for topics. @param error why they are missing or unknown; null: they are missing. */
export function topicsFix(error: Error | null): string {
  return error instanceof MissingPermissionError ? error.message : "switchyard topics --apply";
}
