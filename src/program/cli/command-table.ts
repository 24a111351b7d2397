/**
 * The commands in the order in which the help lists them. A command's file is loaded only when the command is called,
 * so that `switchyard --version` does not load everything that `run` needs.
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
    summary: "compare Avro schemas with the registry, and register them",
    load: async () => (await import("./schemas/command.ts")).schemasCommand,
  },
  {
    name: "acls",
    summary: "print the Kafka ACLs that each stage and command needs",
    load: async () => (await import("./acls/command.ts")).aclsCommand,
  },
  {
    name: "config",
    summary: "write, check, print or compare the configuration",
    load: async () => (await import("./config/command.ts")).configCommand,
  },
  {
    name: "publish",
    summary: "write calls from JSON lines to the calls topic",
    load: async () => (await import("./publish/command.ts")).publishCommand,
  },
  {
    name: "explain",
    summary: "show where calls would go, and why",
    load: async () => (await import("./explain/command.ts")).explainCommand,
  },
  {
    name: "filter",
    summary: "test an expression of the filter language with calls",
    load: async () => (await import("./filter/command.ts")).filterCommand,
  },
  {
    name: "timeline",
    summary: "show what happened to one call, from receipt to its final state",
    load: async () => (await import("./timeline/command.ts")).timelineCommand,
  },
  {
    name: "audit",
    summary: "add up what became of the calls of a period, and name those that are missing",
    load: async () => (await import("./audit/command.ts")).auditCommand,
  },
  {
    name: "delete",
    summary: "request the deletion of a user",
    load: async () => (await import("./delete-command.ts")).deleteCommand,
  },
  {
    name: "suppressions",
    summary: "suppress users, so that nothing more is sent for them",
    load: async () => (await import("./suppressions/command.ts")).suppressionsCommand,
  },
  {
    name: "audience",
    summary: "publish syncs, list audiences and their members, approve syncs",
    load: async () => (await import("./audience/command.ts")).audienceCommand,
  },
  {
    name: "status",
    summary: "show the state of destinations, lag, backlogs and dead letters",
    load: async () => (await import("./status/command.ts")).statusCommand,
  },
  {
    name: "pause",
    summary: "pause a destination",
    load: async () => (await import("./control/command.ts")).pauseCommand,
  },
  {
    name: "resume",
    summary: "resume a paused destination",
    load: async () => (await import("./control/command.ts")).resumeCommand,
  },
  {
    name: "console",
    summary: "serve the console",
    load: async () => (await import("./console/command.ts")).consoleCommand,
  },
  {
    name: "retry",
    summary: "immediately attempt the deliveries that await retry",
    load: async () => (await import("./control/command.ts")).retryCommand,
  },
  {
    name: "wait",
    summary: "wait until a destination has no backlog",
    load: async () => (await import("./control/command.ts")).waitCommand,
  },
  {
    name: "cancel",
    summary: "dead-letter the deliveries that wait for a destination",
    load: async () => (await import("./control/command.ts")).cancelCommand,
  },
  {
    name: "dead-letters",
    summary: "list and replay dead letters",
    load: async () => (await import("./dead-letters/command.ts")).deadLettersCommand,
  },
  {
    name: "replay",
    summary: "replay past calls for one destination",
    load: async () => (await import("./replay/command.ts")).replayCommand,
  },
  {
    name: "skip-corrupt-batch",
    summary: "skip one corrupt batch so that a halted stage can continue",
    load: async () => (await import("./skip-corrupt-batch/command.ts")).skipCorruptBatchCommand,
  },
  {
    name: "sign",
    summary: "print the X-Signature of a request body",
    load: async () => (await import("./sign-command.ts")).signCommand,
  },
  {
    name: "kafka",
    summary: "start, stop or show a local Kafka for development",
    load: async () => (await import("./local-commands.ts")).kafkaCommand,
  },
  {
    name: "demo",
    summary: "deliver sample calls through a real Kafka",
    load: async () => (await import("./local-commands.ts")).demoCommand,
  },
  {
    name: "completion",
    summary: "print a completion script for a shell",
    load: async () => (await import("./completion-command.ts")).completionOf(COMMANDS),
  },
];
