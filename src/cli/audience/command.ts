/** `switchyard audience`: publish a sync, list audiences and members, approve a sync. */

import { randomUUID } from "node:crypto";
import { Command } from "commander";

import { snakeCase } from "../../audience/snake-case.ts";
import type { OrderedStore } from "../../audience/store/ordered-store.ts";
import type { Config } from "../../config/config.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { approveSync } from "../../operate/act/approve.ts";
import { assertTopics } from "../../operate/connect/assert-topics.ts";
import {
  type KafkaTimeoutOption,
  kafkaTimeoutOption,
  withKafka,
} from "../../operate/connect/cluster.ts";
import { commandProducer } from "../../operate/connect/command-producer.ts";
import {
  type ConfigOption,
  configOption,
  loadOrExplain,
} from "../../operate/connect/configuration.ts";
import { configuredTopics } from "../../operate/connect/connection.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { tell } from "../../operate/connect/tell.ts";
import {
  audiencesJson,
  audienceTable,
  readClaims,
  readMembers,
} from "../../operate/look/audiences.ts";
import { systemClock } from "../../runtime/clock.ts";
import { counted } from "../../words/count.ts";
import { checkInput, openInput } from "../input.ts";
import { publishAudience } from "./publish.ts";
import { untilApplied } from "./unapplied.ts";

interface PublishOptions extends ConfigOption, KafkaTimeoutOption {
  readonly name: string;
  readonly audience?: string;
  readonly file?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

interface ListOptions extends ConfigOption, KafkaTimeoutOption {
  readonly json?: boolean;
}

type Exit = (status: ExitStatus) => void;

export function audienceCommand(shell: Shell, exit: Exit): Command {
  return new Command("audience")
    .summary("publish syncs, list audiences and their members, approve syncs")
    .description(
      "Writes syncs of audiences, and shows audiences, their members and syncs awaiting approval.",
    )
    .addCommand(publishSync(shell, exit))
    .addCommand(list(shell, exit))
    .addCommand(members(shell, exit))
    .addCommand(approve(shell, exit));
}

function publishSync(shell: Shell, exit: Exit): Command {
  return new Command("publish")
    .summary("write a complete sync from a file of user ids")
    .description(
      "Reads user ids, one a line, and writes them as a complete sync: each user who is new " +
        "becomes a member, and each member who is not listed any more is removed. Without " +
        "--file it reads standard input. Repeated ids count once. All of the list is read, into a " +
        "temporary directory, before anything is written. Then the command waits up to a minute " +
        "until the audience stage has applied earlier syncs of this audience. A list is refused if " +
        "they are not applied by then, if it is empty, lacks more than half of the members or " +
        "begins with the name of a column, or if its last line was cut.",
    )
    .requiredOption("--name <name>", "the audience's name, which gives the trait")
    .option("--audience <id>", "the audience's id (default: the snake_case form of its name)")
    .option("--file <file>", "the user ids")
    .option("--force", "publish a list that would be refused, without comparing it")
    .option("--json", "print the outcome as one JSON object")
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .addHelpText(
      "after",
      "\nExit status: 0 written; 1 the list is refused, cannot be read or has a line that is no id, " +
        "and nothing was written, or it was interrupted; 2 wrong usage or configuration.\n\nExample:\n" +
        '  switchyard audience publish --name "VIP Customers" --file users.txt',
    )
    .action(async (options: PublishOptions) => {
      const { name, audience, file } = options;
      await checkInput(file);
      await withConfig(options, shell, exit, async (kafka, config, signal) => {
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

/** Nobody, of an audience that is not there yet. */
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
  return new Command("list")
    .summary("show the audiences, their last syncs and those awaiting approval")
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .option("--json", "print one JSON object")
    .action((options: ListOptions) =>
      withConfig(options, shell, exit, async (kafka, config, signal) => {
        const claims = await readClaims(kafka, configuredTopics(config), signal);
        const all = claims.all();
        if (options.json === true) shell.out(audiencesJson(all));
        else shell.out(all.length === 0 ? "There is no audience.\n" : audienceTable(all));
        return 0;
      }),
    );
}

function members(shell: Shell, exit: Exit): Command {
  return new Command("members")
    .summary("print an audience's members, one a line")
    .argument("<id>", "the audience's id")
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .option("--json", "one JSON text a line")
    .action((id: string, options: ListOptions) =>
      withConfig(options, shell, exit, async (kafka, config, signal) => {
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
  return new Command("approve")
    .summary("apply a sync that awaits approval: its removals are carried out")
    .argument("<id>", "the audience's id")
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .option("--json", "print the outcome as one JSON object")
    .action((id: string, options: ListOptions) =>
      withConfig(options, shell, exit, async (kafka, config, signal) => {
        const topics = configuredTopics(config);
        const audience = (await readClaims(kafka, topics, signal)).of(id);
        if (audience === null) return unknown(id, shell);
        if (audience.awaitingApproval === null) {
          shell.err(
            `error: no sync of audience ${visibleCell(id)} awaits approval. See: switchyard audience list\n`,
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
  shell.err(`error: there is no audience ${JSON.stringify(id)}. See: switchyard audience list\n`);
  return 1;
}

async function withConfig(
  options: ConfigOption & KafkaTimeoutOption,
  shell: Shell,
  exit: Exit,
  act: (kafka: Kafka, config: Config, signal: AbortSignal) => Promise<ExitStatus>,
): Promise<void> {
  const loaded = await loadOrExplain(options, shell);
  if (loaded === null) return exit(2);
  const { config } = loaded;
  exit(await withKafka(config, shell, options, (kafka, signal) => act(kafka, config, signal)));
}
