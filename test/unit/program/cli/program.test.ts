// Commands, their exit status and their output. Commands that use Kafka are in publish.test.ts and
// topics-command.test.ts; test/local/program.test.ts starts the real program.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

import { runProgram } from "../../../../src/program/cli/program.ts";
import { signature } from "../../../../src/router/destinations/webhook/signature.ts";
import { SMALL } from "../../../support/build/config-source.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-program-"));
afterAll(() => rmSync(folder, { recursive: true }));

const GOOD = file("good.yaml", SMALL);
const BAD = file("bad.yaml", "kafka: { partitions: 0 }\nlog: { level: loud }");

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const ENDPOINTS = 'endpoints: [{ url: "https://a.example.com/" }]';
const SIGNED = file(
  "signed.yaml",
  `kafka: { brokers: [k:1] }
sources: [{ id: web, destinations: [hook, plain] }]
destinations:
  - { id: plain, type: webhook, ${ENDPOINTS} }
  - id: hook
    type: webhook
    standardWebhooks: true
    signingKey: whsk_${Buffer.alloc(32).toString("base64")}
    ${ENDPOINTS}
`,
);

async function say(args: string, input: readonly string[] = [], env = {}) {
  const shell = fakeShell(input, env);
  const status = await runProgram(args === "" ? [] : args.split(" "), shell);
  return { status, out: shell.output(), err: shell.errors() };
}

test.each([
  ["", 2, "Usage: switchyard"],
  ["nope", 2, "unknown command 'nope'"],
  ["config", 2, "Usage: switchyard config"],
  ["config nope", 2, "unknown command 'nope'"],
  ["config check --nope", 2, "unknown option '--nope'"],
  ["config check extra", 2, "too many arguments"],
  ["config check", 2, "Use --config FILE or set SWITCHYARD_CONFIG."],
  ["config check --config", 2, "argument missing"],
  [`config check -c ${BAD}x`, 2, "there is no such file"],
  [`config print -c ${BAD}`, 2, "3 problems"],
  [`run -c ${BAD}`, 2, "3 problems"],
  [
    "run --stages route,nope",
    2,
    '"nope" is not a stage. Stages: ingest, route, audience, deletion, deliver, delay, console.',
  ],
  ["run --stages delver", 2, "Did you mean deliver?"],
  ["run --stages", 2, "argument missing"],
  [`topics -c ${BAD}`, 2, "3 problems"],
  [`publish -c ${BAD}`, 2, "3 problems"],
  [`explain -c ${BAD}`, 2, "3 problems"],
  [`publish --source ios -c ${GOOD}`, 2, 'no source has the ID "ios". Configured sources: web.'],
  [`delete -c ${GOOD}`, 2, "missing required argument 'user'"],
  [`delete u1 -c ${BAD}`, 2, "3 problems"],
  [`delete u1 --source web --source ios -c ${GOOD}`, 2, 'no source has the ID "ios"'],
  ["sign", 2, "exactly one of --secret-file, --secret-env or --secret is required"],
  ["sign --secret abc123 /no/such/file", 1, "/no/such/file cannot be read: there is no such file"],
  // The Kafka in this configuration does not exist, and no request is sent to it.
  [
    `publish /no/such/file --source web -c ${GOOD}`,
    1,
    "error: /no/such/file cannot be read: there is no such file\n",
  ],
  [`publish / --source web -c ${GOOD}`, 1, "error: / cannot be read: it is a folder\n"],
  [
    `audience publish --name VIP --file /no/such/file -c ${GOOD}`,
    1,
    "error: /no/such/file cannot be read: there is no such file\n",
  ],
  [`explain /no/such/file -c ${GOOD}`, 1, "there is no such file\n"],
  [
    `config diff /no/such/file -c ${GOOD}`,
    2,
    "/no/such/file cannot be read: there is no such file",
  ],
  [`topics --kafka-timeout soon -c ${GOOD}`, 2, "from 0ms to 1d, such as 30s, 5m or 2h."],
  [`pause web --for 0s -c ${GOOD}`, 2, '"0s" is not a duration from 1ms to 365d, such as'],
  [`status --rate-window 1h -c ${GOOD}`, 2, '"1h" is not a duration from 1s to 10m, such as'],
  [`status --destination nope -c ${GOOD}`, 2, 'no destination has the ID "nope". Configured: '],
  [`dead-letters list --since 1h --until 2h -c ${GOOD}`, 2, "--until must be later than --since"],
  [`dead-letters replay --since 1h --until 2h -c ${GOOD}`, 2, "--until must be later than --since"],
  [`schemas -c ${BAD}`, 2, "3 problems"],
  [`schemas --apply -c ${GOOD}`, 2, "registry.url is not set in the configuration"],
  ["kafka", 2, "Usage: switchyard kafka"],
  ["kafka sideways", 2, "unknown command 'sideways'"],
])("%s: status %i and an error that says: %s", async (args, status, error) => {
  const said = await say(args);
  expect(said.status).toBe(status);
  expect(said.err).toContain(error);
  expect(said.out).toBe("");
});

const NO_IOS = 'no source has the ID "ios". Configured sources: web.';

test.each([
  ["nope", "unknown command 'nope'", ""],
  ["topic", "unknown command 'topic' (Did you mean topics?)", ""],
  ["config chek", "unknown command 'chek' (Did you mean check?)", "config"],
  ["config check --nope", "unknown option '--nope'", "config check"],
  ["delete", "missing required argument 'user'", "delete"],
  ["topics --aply", "unknown option '--aply' (Did you mean --apply?)", "topics"],
  [
    "config check",
    "no configuration file is set, and there is no switchyard.yaml in this folder. Use --config FILE or set SWITCHYARD_CONFIG.",
    "config check",
  ],
  [`publish --source ios -c ${GOOD}`, NO_IOS, "publish"],
  [`delete u1 --source ios -c ${GOOD}`, NO_IOS, "delete"],
  ["sign", "exactly one of --secret-file, --secret-env or --secret is required.", "sign"],
  ["sign --secret-env NOBODY", "the environment variable NOBODY is not set.", "sign"],
  [
    "dead-letters replay --resume r --limit 1 --config x",
    "--resume uses the original filters of the replay. Omit --destination, --reason, --message-id, --since, --until and --limit.",
    "dead-letters replay",
  ],
])("%s: one line, and where the help is", async (args, error, command) => {
  const help = `switchyard ${command}`.trimEnd();
  const said = await say(args);
  expect(said).toEqual({ status: 2, out: "", err: `error: ${error}\nHelp: ${help} --help\n` });
});

test("a word that is also a command does not change where the help is", async () => {
  const { status, err } = await say(`skip-corrupt-batch config 0 0 -c ${GOOD}`);
  expect(status).toBe(2);
  expect(err).toMatch(
    /^error: no stage reads config\. Topics that stages read: .*\.\nHelp: switchyard skip-corrupt-batch --help\n$/,
  );
});

test.each([
  "",
  "run",
  "topics",
  "config",
  "config check",
  "config print",
  "config diff",
  "publish",
  "sign",
  "explain",
  "filter try",
  "delete",
  "kafka",
  "schemas",
  "kafka up",
  "kafka down",
  "kafka status",
  "demo",
])("`%s --help` shows examples", async (command) => {
  const said = await say(`${command} --help`.trim());
  expect(said).toMatchObject({ status: 0, err: "" });
  expect(said.out).toMatch(/Examples?:\n {2}\S/);
});

test("config check accepts a good file, and takes it from the environment too", async () => {
  expect(await say(`config check -c ${GOOD}`)).toMatchObject({
    status: 0,
    out: "The configuration is valid: 1 source, 1 destination.\n",
  });
  expect(await say("config check", [], { SWITCHYARD_CONFIG: GOOD })).toMatchObject({ status: 0 });
});

test("every problem is printed with path, line, found and expected", async () => {
  const { err } = await say(`config check -c ${BAD}`);
  expect(err).toContain("kafka.partitions (line 1)\n  found:    0\n  expected: an integer");
  expect(err).toContain("kafka.brokers (line 1)\n  found:    nothing");
  expect(err).toContain('log.level (line 2)\n  found:    "loud"');
});

test("warnings go to standard error and cost nothing", async () => {
  const env = { SWITCHYARD_KAFKA_BROKER: "a:1" };
  const said = await say(`config print -c ${GOOD}`, [], env);
  expect(said.status).toBe(0);
  expect(said.err).toContain("warning: the environment variable SWITCHYARD_KAFKA_BROKER");
  expect(said.out).toContain("writeKey: (hidden)");
});

test.each([
  ["abc123", '{"cool":true}', "5099cab379b3be52908387457007040cc934ef86"],
  [
    "s3cr3t",
    '{"type":"track","event":"Café ☕","userId":"u"}',
    "7b56300b25f23e3c6b1f27dd4275a788da207a10",
  ],
])("sign --secret %s of %s", async (secret, body, signature) => {
  const shell = fakeShell([body.slice(0, 5), body.slice(5)]);
  expect(await runProgram(["sign", "--secret", secret], shell)).toBe(0);
  expect(shell.output()).toBe(`${signature}\n`);
  const path = file("body.json", body);
  expect(await say(`sign --secret ${secret} ${path}`)).toMatchObject({ out: `${signature}\n` });
});

test("sign takes the secret from the environment", async () => {
  const path = file("of-env.json", '{"cool":true}');
  const said = await say(`sign --secret-env CRM ${path}`, [], { CRM: "abc123" });
  expect(said).toEqual({ status: 0, out: "5099cab379b3be52908387457007040cc934ef86\n", err: "" });
  const empty = await say(`sign --secret-env CRM ${path}`, [], { CRM: "" });
  expect(empty).toMatchObject({ status: 2, out: "" });
});

test("a line end within a secret of the configuration gives another signature than the file", async () => {
  const body = '{"cool":true}';
  const secretFile = file("line-end.txt", "abc123\n");
  const said = await say(`sign --secret-file ${secretFile} ${file("signed.json", body)}`);
  const sent = (secret: string) => `${signature(body, secret)}\n`;
  expect(said.out).not.toBe(sent("abc123\n"));
  expect(said.out).toBe(sent("abc123"));
});

test("an empty secret signs nothing", async () => {
  expect(await runProgram(["sign", "--secret", ""], fakeShell(["x"]))).toBe(2);
});

test("sign prints the public key of a destination in three forms", async () => {
  const said = await say(`sign --public-key --destination hook -c ${SIGNED}`);
  const [, , , whpk, jwk = ""] = said.out.split("\n");
  expect(said).toMatchObject({ status: 0, err: "" });
  expect(said.out).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  expect(whpk).toBe("whpk_O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=");
  expect(JSON.parse(jwk)).toMatchObject({ kty: "OKP", crv: "Ed25519" });
});

test.each([
  ["abc123", "a file"],
  ["abc123\n", "a file"],
  ["abc123\r\n", "a file"],
  ["abc123\n", "standard input"],
])("sign reads the secret %j from %s", async (secret, from) => {
  const isFile = from === "a file";
  const shell = fakeShell(isFile ? [] : [secret]);
  const secretFile = isFile ? file("secret.txt", secret) : "-";
  const args = ["sign", "--secret-file", secretFile, file("cool.json", '{"cool":true}')];
  expect(await runProgram(args, shell)).toBe(0);
  expect(shell.output()).toBe("5099cab379b3be52908387457007040cc934ef86\n");
});

test.each([
  ["sign body.json", "exactly one of"],
  ["sign --secret a --secret-file b body.json", "exactly one of"],
  ["sign --secret a --secret-env B body.json", "exactly one of"],
  ["sign --secret-file -", "a body file is required"],
  ["sign --secret-file /dev/null body.json", "the secret is empty"],
  ["sign --public-key", "--public-key and --destination belong together"],
  ["sign --destination hook --secret a", "--public-key and --destination belong together"],
  ["sign --public-key --destination hook --secret a", "--public-key signs nothing"],
  ["sign --public-key --destination hook body.json", "--public-key signs nothing"],
  [`sign --public-key --destination hok -c ${SIGNED}`, "Did you mean hook?"],
  [`sign --public-key --destination plain -c ${SIGNED}`, "the destination plain has no signingKey"],
])("%s is wrong usage", async (line, problem) => {
  const said = await say(line);
  expect(said.status).toBe(2);
  expect(said.err).toContain(problem);
});

test("config check says warnings apart from problems, and ends well", async () => {
  const source = SMALL.replace("type: webhook,", "type: webhook, sharedSecret: hunter2,");
  const said = await say(`config check -c ${file("weak.yaml", source)}`);
  expect(said.status).toBe(0);
  expect(said.err).toContain("warning: destinations[0]: sharedSecret has fewer than 16 characters");
  expect(said.out).toContain("1 destination. 1 warning (see above).");
  expect(`${said.out}${said.err}`).not.toContain("hunter2");
});

test("config check says equal warnings once, and counts all of them", async () => {
  const weak = "type: webhook, sharedSecret: hunter2,";
  const source = SMALL.replace("[hook]", "[hook, two]").replace("type: webhook,", weak);
  const two = `  - { id: two, ${weak} endpoints: [{ url: "https://b.example.com/" }] }\n`;
  const said = await say(`config check -c ${file("weak-two.yaml", source + two)}`);
  expect(said.err).toMatch(/^warning: destinations\[0\], destinations\[1\]: .*\n$/);
  expect(said.out).toContain("2 destinations. 2 warnings (see above).");
});
