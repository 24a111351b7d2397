import type { Admin } from "../../kafka/port.ts";
import { missingTopics } from "../../router/stage/topic-keeper.ts";

/** Used by commands that do not create topics. @throws Error that names the missing topics. */
export async function assertTopics(admin: Admin, names: readonly string[]): Promise<void> {
  const missing = await missingTopics(admin, names);
  if (missing.length === 0) return;
  const isOne = missing.length === 1;
  throw new Error(
    `the topic${isOne ? "" : "s"} ${missing.join(", ")} ${isOne ? "does" : "do"} not exist. Check kafka.topicPrefix, or create what is missing: switchyard topics --apply`,
  );
}
