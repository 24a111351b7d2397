import type { Admin } from "../kafka/port.ts";

/** For commands that create nothing. @throws Error naming the topics that do not exist. */
export async function assertTopics(admin: Admin, names: readonly string[]): Promise<void> {
  const existing = new Set(await admin.topics());
  const missing = [...new Set(names)].filter((name) => !existing.has(name));
  if (missing.length === 0) return;
  const isOne = missing.length === 1;
  throw new Error(
    `the topic${isOne ? "" : "s"} ${missing.join(", ")} ${isOne ? "does" : "do"} not exist. Check kafka.topicPrefix, or create what is missing: switchyard topics --apply`,
  );
}
