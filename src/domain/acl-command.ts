/** Formats grants as commands for Kafka's own tool, `kafka-acls.sh`. */

import type { Grant } from "./permissions.ts";
import { shellWord } from "./shell-word.ts";

export interface AclTool {
  /** The start of each command as an operator types it, such as `kafka-acls.sh --command-config admin.properties`. */
  readonly command: string;
  readonly bootstrapServer: string;
}

export function aclCommand(
  { on, names, pattern, operations }: Grant,
  principal: string,
  { command, bootstrapServer }: AclTool,
): string {
  const words = ["--bootstrap-server", bootstrapServer, "--add", "--allow-principal", principal];
  for (const operation of operations) words.push("--operation", operation);
  if (on === "cluster") words.push("--cluster");
  for (const name of names) words.push(`--${on}`, name);
  if (pattern === "prefixed") words.push("--resource-pattern-type", "prefixed");
  return [command, ...words.map(shellWord)].join(" ");
}
