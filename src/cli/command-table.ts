/**
 * The commands in the order of the help. A command's file is loaded only when the command is named:
 * `switchyard --version` would otherwise load everything that `run` needs.
 */

import type { CommandEntry } from "./command-entry.ts";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "run",
    summary: "run the stages",
    load: async () => (await import("./run-command.ts")).runCommand,
  },
  {
    name: "topics",
    summary: "compare the topics with the plan, and create or change them",
    load: async () => (await import("./topics/command.ts")).topicsCommand,
  },
  {
    name: "schemas",
    summary: "register Avro schemas, or check what would be registered",
    load: async () => (await import("./schemas/command.ts")).schemasCommand,
  },
  {
    name: "acls",
    summary: "print the least rights on Kafka, as commands of kafka-acls or for Strimzi",
    load: async () => (await import("./acls/command.ts")).aclsCommand,
  },
  {
    name: "config",
    summary: "write, check, print or compare the configuration",
    load: async () => (await import("./config/command.ts")).configCommand,
  },
  {
    name: "publish",
    summary: "write calls from JSON lines to the topic of calls",
    load: async () => (await import("./publish/command.ts")).publishCommand,
  },
  {
    name: "explain",
    summary: "show where calls would go, and why",
    load: async () => (await import("./explain/command.ts")).explainCommand,
  },
  {
    name: "timeline",
    summary: "tell one call's way: received, routed, attempted, waiting, accepted or given up",
    load: async () => (await import("./timeline/command.ts")).timelineCommand,
  },
  {
    name: "delete",
    summary: "ask for the deletion of a user",
    load: async () => (await import("./delete-command.ts")).deleteCommand,
  },
  {
    name: "audience",
    summary: "publish syncs, list audiences and their members, approve syncs",
    load: async () => (await import("./audience/command.ts")).audienceCommand,
  },
  {
    name: "status",
    summary: "show the state of destinations, lag, waiting deliveries and dead letters",
    load: async () => (await import("./status/command.ts")).statusCommand,
  },
  {
    name: "pause",
    summary: "stop posting to a destination for a while",
    load: async () => (await import("./control/command.ts")).pauseCommand,
  },
  {
    name: "resume",
    summary: "end the pause of a destination",
    load: async () => (await import("./control/command.ts")).resumeCommand,
  },
  {
    name: "console",
    summary: "serve the console",
    load: async () => (await import("./console/command.ts")).consoleCommand,
  },
  {
    name: "retry",
    summary: "retry now the deliveries of a destination that await retry",
    load: async () => (await import("./control/retry-cancel-wait.ts")).retryCommand,
  },
  {
    name: "wait",
    summary: "wait until nothing is left for a destination",
    load: async () => (await import("./control/retry-cancel-wait.ts")).waitCommand,
  },
  {
    name: "cancel",
    summary: "give up what waits for a destination",
    load: async () => (await import("./control/retry-cancel-wait.ts")).cancelCommand,
  },
  {
    name: "dead-letters",
    summary: "list what was given up, and replay it",
    load: async () => (await import("./dead-letters/command.ts")).deadLettersCommand,
  },
  {
    name: "replay",
    summary: "write calls of the last days once more, for one destination",
    load: async () => (await import("./replay/command.ts")).replayCommand,
  },
  {
    name: "skip-corrupt-batch",
    summary: "give up one damaged batch, so that its stage goes on",
    load: async () => (await import("./skip-corrupt-batch/command.ts")).skipCorruptBatchCommand,
  },
  {
    name: "sign",
    summary: "print the X-Signature of a body",
    load: async () => (await import("./sign-command.ts")).signCommand,
  },
  {
    name: "kafka",
    summary: "start, stop or show a local Kafka for development",
    load: async () => (await import("./local-commands.ts")).kafkaCommand,
  },
  {
    name: "demo",
    summary: "show the whole path on a real Kafka with sample calls",
    load: async () => (await import("./local-commands.ts")).demoCommand,
  },
  {
    name: "completion",
    summary: "print the completion of a shell",
    load: async () => (await import("./completion-command.ts")).completionOf(COMMANDS),
  },
];
