/**
 * `switchyard schemas`: compares the Avro schemas of a folder with a registry and, with `--apply`, registers them.
 *
 *   outcome                                                         exit
 *   all are registered, and their compatibility is set              0
 *   without --apply, something would be registered or set           1, so that a deployment can stop
 *   a schema is incompatible                                        1, and nothing is registered
 *   the registry rejects a request or is unreachable                1
 *   `registry` is not configured, or a schema is invalid            2
 */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Command, Option } from "commander";
import { counted } from "../../../base/words/count.ts";
import { table } from "../../../base/words/table.ts";
import {
  type ConfigOption,
  configOption,
  configured,
} from "../../../operator/connect/configuration.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { COMPATIBILITY } from "../../../registry/port.ts";
import type {
  CheckedSubject,
  SubjectSchema,
  SubjectState,
  Subjects,
} from "../../../registry/subjects.ts";
import { type NamedSchema, orderSchemas } from "./schema-files.ts";

const OWN = join(import.meta.dirname, "../../../../schemas");

interface SchemasOptions extends ConfigOption {
  readonly apply?: boolean;
  readonly dir: string;
  readonly context?: string;
  readonly json?: boolean;
}

interface Plan {
  readonly schemas: readonly NamedSchema[];
  readonly subjectOf: (name: string) => string;
  readonly json: boolean;
}

export function schemasCommand(shell: Shell, exit: Exit): Command {
  return new Command("schemas")
    .description(
      "Compares Avro schemas with the schema registry and prints what would be registered. With --apply, " +
        "sets the compatibility of the subjects and registers the schemas, but registers nothing if a schema is " +
        "incompatible. By default, these are the schemas of calls, audience syncs, deletion requests and attempts. " +
        "The subject is the full name of the record. The compatibility is BACKWARD_TRANSITIVE: a new schema " +
        "can read what all earlier versions wrote.",
    )
    .addOption(configOption())
    .option("--apply", "register the schemas and set their compatibility")
    .addOption(
      new Option("--dir <folder>", "folder of *.avsc files").default(OWN, "Switchyard's own"),
    )
    .option("--context <name>", "context of the subjects, such as staging for :.staging:")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExit status: 0 if all schemas are registered; 1 on failure, if a schema is incompatible or, without\n" +
        "--apply, if a schema is not registered; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard schemas --config switchyard.yaml\n" +
        "  switchyard schemas --apply --config switchyard.yaml\n" +
        "  switchyard schemas --apply --dir my-schemas --context staging --config switchyard.yaml",
    )
    .action(async (options: SchemasOptions) => exit(await compareSchemas(options, shell)));
}

async function compareSchemas(options: SchemasOptions, shell: Shell): Promise<ExitStatus> {
  const { registry } = (await configured(options, shell)).config;
  if (registry === null) {
    shell.err(`${shell.errColors.red("error:")} registry.url is not set in the configuration\n`);
    return 2;
  }
  const ordered = orderSchemas(readFolder(options.dir));
  if (ordered.kind === "invalid" || ordered.schemas.length === 0) {
    const problems =
      ordered.kind === "invalid" ? ordered.problems : ["the folder has no *.avsc file"];
    for (const problem of problems) {
      shell.err(`${shell.errColors.red("error:")} ${options.dir}: ${problem}\n`);
    }
    return 2;
  }
  const prefix = options.context === undefined ? "" : `:.${options.context.replace(/^\./, "")}:`;
  const subjectOf = (name: string) => `${prefix}${name}`;
  const { createSubjects } = await import("../../../registry/subjects.ts");
  await using subjects = createSubjects(registry);
  const plan = { schemas: ordered.schemas, subjectOf, json: options.json === true };
  const verdicts = await verdictsOf(subjects, plan);
  const isRefused = verdicts.some(({ action }) => action === "refused");
  if (options.apply === true && !isRefused) return await register(subjects, plan, shell);
  printVerdicts(verdicts, plan, shell);
  const waiting = verdicts.filter(({ action }) => action === "do").length;
  if (!plan.json) shell.out(summary(verdicts.length, waiting, isRefused, options, shell));
  return isRefused || waiting > 0 ? 1 : 0;
}

/** @throws Error if the folder or a file cannot be read. */
function readFolder(folder: string) {
  const names = readdirSync(folder).filter((name) => name.endsWith(".avsc"));
  return names.sort().map((name) => {
    return { file: basename(name), text: readFileSync(join(folder, name), "utf8") };
  });
}

/** The last line; empty if the table says it all. */
function summary(
  total: number,
  waiting: number,
  isRefused: boolean,
  { apply }: SchemasOptions,
  { colors: { green, red, yellow } }: Shell,
): string {
  if (isRefused && apply === true) {
    return red("A schema is incompatible, so nothing was registered.\n");
  }
  if (isRefused) return "";
  if (waiting === 0) return `${green(`All ${total} schemas are registered`)}.\n`;
  return `${yellow(`${counted(waiting, "schema")} to register or set`)}. Run: switchyard schemas --apply\n`;
}

/** Registers schemas that have been checked, none of which is incompatible. */
async function register(subjects: Subjects, plan: Plan, shell: Shell): Promise<ExitStatus> {
  const verdicts: Verdict[] = [];
  const versions = new Map<string, number>();
  const signal = new AbortController().signal;
  for (const schema of plan.schemas) {
    const subject = plan.subjectOf(schema.name);
    const state = await subjects.register(toSubject(schema, plan, versions), signal);
    if (state.kind === "registered") versions.set(schema.name, state.version);
    const action = state.kind === "registered" ? "nothing" : "refused";
    verdicts.push({ subject, says: stateText(state), action });
    // Schemas that use this one cannot be registered without it.
    if (state.kind !== "registered") break;
  }
  printVerdicts(verdicts, plan, shell);
  return verdicts.every(({ action }) => action === "nothing") ? 0 : 1;
}

async function verdictsOf(subjects: Subjects, plan: Plan): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  const versions = new Map<string, number>();
  const signal = new AbortController().signal;
  for (const schema of plan.schemas) {
    const subject = plan.subjectOf(schema.name);
    const missing = schema.uses.find((name) => !versions.has(name));
    if (missing !== undefined) {
      verdicts.push(waitingFor(subject, plan.subjectOf(missing)));
      continue;
    }
    const checked = await subjects.check(toSubject(schema, plan, versions), signal);
    if (checked.state.kind === "registered") versions.set(schema.name, checked.state.version);
    verdicts.push(verdictOf(subject, checked));
  }
  return verdicts;
}

function toSubject(
  { name, text, uses }: NamedSchema,
  plan: Plan,
  versions: ReadonlyMap<string, number>,
): SubjectSchema {
  const references = uses.map((used) => {
    return { name: used, subject: plan.subjectOf(used), version: versions.get(used) ?? 1 };
  });
  return { subject: plan.subjectOf(name), text, references };
}

function printVerdicts(verdicts: readonly Verdict[], { json }: Plan, shell: Shell): void {
  if (json) {
    const schemas = verdicts.map(({ subject, says, action }) => ({ subject, state: says, action }));
    shell.out(`${JSON.stringify({ schemas }, undefined, 2)}\n`);
    return;
  }
  const { bold, green, red, yellow } = shell.colors;
  const colours = { nothing: green, do: yellow, refused: red };
  const rows = verdicts.map(({ subject, says }) => [subject, says]);
  const text = table(["SUBJECT", "STATE"], rows, (cell, row) => {
    const verdict = verdicts[row];
    return verdict === undefined ? bold(cell) : colours[verdict.action](cell);
  });
  shell.out(text);
}

/**
 * Decides what `switchyard schemas` prints about a subject, and what has to be done for the subject.
 *
 *   the subject                              compatibility          to do
 *   has the schema                           BACKWARD_TRANSITIVE    nothing
 *   has the schema                           any other              set the compatibility
 *   does not exist                           any                    register
 *   has only other, compatible schemas       any                    register
 *   has only other, incompatible schemas     any                    rejected
 *   has other schemas, and the registry      any                    register
 *     cannot check this one yet
 *   uses a schema that is not registered     unknown                register
 */
interface Verdict {
  readonly subject: string;
  readonly says: string;
  readonly action: "nothing" | "do" | "refused";
}

export function verdictOf(subject: string, { state, compatibility }: CheckedSubject): Verdict {
  const isLevel = compatibility === COMPATIBILITY;
  const level = isLevel ? "" : `; its compatibility is ${compatibility ?? "not set"}`;
  const says = `${stateText(state)}${state.kind === "new" ? "" : level}`;
  if (state.kind === "incompatible") return { subject, says, action: "refused" };
  const isDone = state.kind === "registered" && isLevel;
  return { subject, says, action: isDone ? "nothing" : "do" };
}

/** Returns the verdict for a schema that cannot be checked until another schema is registered. */
export function waitingFor(subject: string, used: string): Verdict {
  return {
    subject,
    says: `not checked: it uses ${used}, which is not registered`,
    action: "do",
  };
}

function stateText(state: SubjectState): string {
  switch (state.kind) {
    case "registered":
      return `registered as version ${state.version}, id ${state.id}`;
    case "new":
      return "new";
    case "compatible":
      return "not registered; compatible with all versions";
    case "unchecked":
      return (
        "not registered; it uses other schemas, so the registry checks its compatibility " +
        "only when it is registered"
      );
    case "incompatible":
      return `incompatible: cannot read what earlier versions wrote${state.why === "" ? "" : `: ${state.why}`}`;
  }
}
