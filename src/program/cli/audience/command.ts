/** `switchyard audience`: publishes and approves syncs, and lists audiences and members. */

import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { systemClock } from "../../../base/runtime/clock.ts";
import { counted } from "../../../base/words/count.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import { groupNames, type TopicNames } from "../../../domain/topics.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { approveSync } from "../../../operator/act/control-actions.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withCluster,
} from "../../../operator/connect/cluster.ts";
import { commandProducer } from "../../../operator/connect/command-producer.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import { type Exit, type Shell, tell } from "../../../operator/connect/shell.ts";
import {
  audiencesJson,
  audienceTable,
  readClaims,
  readMembers,
} from "../../../operator/look/audiences.ts";
import { snakeCase } from "../../../router/audience/snake-case.ts";
import type { OrderedStore } from "../../../router/audience/store/ordered-store.ts";
import { checkInput, openInput } from "../input.ts";
import { publishAudience } from "./publish.ts";
import { untilApplied } from "./unapplied.ts";

interface PublishOptions extends ClusterOptions {
  readonly name: string;
  readonly audience?: string;
  readonly file?: string;
  readonly force?: boolean;
}

export function audienceCommand(shell: Shell, exit: Exit): Command {
  return new Command("audience")
    .description("Publishes and approves audience syncs, and shows audiences and their members.")
    .addCommand(publishSync(shell, exit))
    .addCommand(list(shell, exit))
    .addCommand(members(shell, exit))
    .addCommand(approve(shell, exit));
}

function publishSync(shell: Shell, exit: Exit): Command {
  return clusterCommand("publish")
    .summary("publish a complete sync from a list of user IDs")
    .description(
      "Reads user IDs, one per line, and publishes them as a complete sync: listed users become " +
        "members, and members who are not listed are removed. Duplicate IDs are ignored. The whole " +
        "list is read into a temporary directory (TMPDIR) before anything is written, and so are the current members. " +
        "This takes about 70 MB for each million IDs. The command then waits up to a minute until the audience stage has applied earlier syncs of this audience. The list " +
        "is rejected if earlier syncs have not been applied by then, if the list is empty, if it lacks more than " +
        "half of the current members, if its first line is a column name, or if its last line is " +
        "truncated.",
    )
    .requiredOption(
      "--name <name>",
      "name of the audience, from which the name of the trait is derived",
    )
    .option("--audience <id>", "ID of the audience (default: its name in snake_case)")
    .option("--file <file>", "file with the user IDs (default: standard input)")
    .option(
      "--force",
      "publish the list without comparing it with the members, even if it would be rejected",
    )
    .option("--json", "print the outcome as one JSON object")
    .addHelpText(
      "after",
      "\nExit status: 0 if the sync was published; 1 if the command was interrupted, or if the list was\n" +
        "rejected, invalid or unreadable, so that nothing was written; 2 if the usage or configuration is\n" +
        "invalid.\n\nExample:\n" +
        '  switchyard audience publish --name "VIP Customers" --file users.txt',
    )
    .action(async (options: PublishOptions) => {
      const { name, audience, file } = options;
      await checkInput(file);
      await withCluster(options, shell, exit, async (kafka, config, signal) => {
        const topics = configuredTopics(config);
        const audienceId = audience ?? snakeCase(name);
        const groupId = groupNames(config.kafka.topicPrefix).audience;
        const reading = { groupId, topic: topics.audienceSyncs };
        await assertTopics(kafka.admin, [topics.audienceSyncs]);
        const { withScratchStore } = await import("../scratch-store.ts");
        return withScratchStore((seen) =>
          withScratchStore((scratch) =>
            publishAudience({
              input: openInput(file, shell),
              producer: commandProducer(kafka, shell, signal),
              topic: topics.audienceSyncs,
              audienceId,
              audienceName: name,
              syncId: randomUUID(),
              seen,
              applied: (onWaiting) =>
                untilApplied({ kafka, clock: systemClock, signal, reading, audienceId }, onWaiting),
              members: () => membersNow(kafka, topics, audienceId, scratch, signal),
              force: options.force ?? false,
              json: options.json ?? false,
              signal,
              shell,
            }),
          ),
        );
      });
    });
}

/** Yields nothing if the audience does not exist yet. */
async function* membersNow(
  kafka: Kafka,
  topics: TopicNames,
  audienceId: string,
  scratch: OrderedStore,
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  await assertTopics(kafka.admin, [topics.audiences, topics.audienceMembers]);
  const audience = (await readClaims(kafka, topics, signal)).of(audienceId);
  if (audience !== null) yield* readMembers(kafka, topics, audience, scratch, signal);
}

function list(shell: Shell, exit: Exit): Command {
  return clusterCommand("list")
    .summary("show audiences, their last syncs and syncs awaiting approval")
    .option("--json", "print one JSON object")
    .action((options: ClusterOptions) =>
      withCluster(options, shell, exit, async (kafka, config, signal) => {
        const claims = await readClaims(kafka, configuredTopics(config), signal);
        const all = claims.all();
        if (options.json === true) shell.out(audiencesJson(all));
        else shell.out(all.length === 0 ? "There are no audiences.\n" : audienceTable(all));
        return 0;
      }),
    );
}

function members(shell: Shell, exit: Exit): Command {
  return clusterCommand("members")
    .summary("print the members of an audience, one per line")
    .argument("<id>", "ID of the audience")
    .option("--json", "print one JSON string per line")
    .action((id: string, options: ClusterOptions) =>
      withCluster(options, shell, exit, async (kafka, config, signal) => {
        const topics = configuredTopics(config);
        const audience = (await readClaims(kafka, topics, signal)).of(id);
        if (audience === null) return unknown(id, shell);
        const line = (user: string) => (options.json === true ? JSON.stringify(user) : user);
        const { withScratchStore } = await import("../scratch-store.ts");
        await withScratchStore(async (scratch) => {
          shell.onlyPrints();
          for await (const ids of readMembers(kafka, topics, audience, scratch, signal)) {
            shell.raw(ids.map((userId) => `${line(userId)}\n`).join(""));
          }
        });
        return signal.aborted ? 1 : 0;
      }),
    );
}

function approve(shell: Shell, exit: Exit): Command {
  return clusterCommand("approve")
    .summary("approve the sync that awaits approval, and remove the members that it does not list")
    .argument("<id>", "ID of the audience")
    .option("--json", "print the outcome as one JSON object")
    .action((id: string, options: ClusterOptions) =>
      withCluster(options, shell, exit, async (kafka, config, signal) => {
        const topics = configuredTopics(config);
        const audience = (await readClaims(kafka, topics, signal)).of(id);
        if (audience === null) return unknown(id, shell);
        if (audience.awaitingApproval === null) {
          shell.err(
            `error: no sync of audience ${visibleCell(id)} awaits approval. Run \`switchyard audience list\`.\n`,
          );
          return 1;
        }
        await assertTopics(kafka.admin, [topics.audienceSyncs]);
        const producer = commandProducer(kafka, shell, signal);
        const { syncId: sync, removals } = audience.awaitingApproval;
        await approveSync(producer, topics, audience, sync);
        const text = `Sync ${visibleCell(sync)}: ${counted(removals, "user")} will be removed.\n`;
        tell(options, shell, text, { audience: id, sync, removals });
        return 0;
      }),
    );
}

function unknown(id: string, shell: Shell): 1 {
  const name = visibleCell(JSON.stringify(id));
  shell.err(`error: audience ${name} does not exist. Run \`switchyard audience list\`.\n`);
  return 1;
}
