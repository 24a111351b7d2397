import { type Admin, MissingPermissionError } from "../kafka/port.ts";

/**
 * Returns the topics that do not exist.
 *
 * @throws MissingPermissionError if the brokers hide some of the topics, because hidden topics may exist, and creating
 * them would not help.
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

/**
 * Returns a command or a sentence that says how to end a wait for topics.
 *
 * @param error why the topics could not be listed or created; null if they are only missing.
 */
export function topicsFix(error: Error | null): string {
  return error instanceof MissingPermissionError ? error.message : "switchyard topics --apply";
}
