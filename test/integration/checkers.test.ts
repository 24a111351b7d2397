// Checkers that others wrote, on a running program. `npm run test:checkers` lets schemathesis send more.

import { execFile } from "node:child_process";
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Agent, request } from "undici";
import { beforeAll, expect, type TestContext, test, vi } from "vitest";
import { publicKeyTexts } from "../../src/router/destinations/webhook/signing-key.ts";
import { issue } from "../support/build/certificates.ts";
import { inputOf, VERIFIERS } from "../support/checkers/webhook-verifiers.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { useProgram } from "../support/kit/program.ts";
import { type TakenRequest, useReceiver } from "../support/kit/receiver.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { prepareEnvironment, pythonOf } from "../support/servers/client-libraries.ts";
import { npmPackages } from "../support/servers/framework-packages.ts";

const IS_LONG = process.env.SWITCHYARD_CHECKERS === "long";
const OPENAPI = join(ROOT, "docs/openapi.yaml");
const SETTINGS = join(ROOT, "test/support/checkers");
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const limit = () => AbortSignal.timeout(180_000);

const [KEY, PREVIOUS_KEY] = [1, 2].map(
  (byte) => `whsk_${Buffer.alloc(32, byte).toString("base64")}`,
) as [string, string];
const [PUBLIC, PREVIOUS_PUBLIC] = [publicKeyTexts(KEY).pem, publicKeyTexts(PREVIOUS_KEY).pem];

/** The keys of each destination, for each version of the signatures. The second is "s3cr3t Ü" in the libraries' form. */
const KEYS = [
  { path: "/one", v1: [SECRET], v1a: [PUBLIC] },
  { path: "/two", v1: ["whsec_czNjcjN0IMOc", SECRET], v1a: [PUBLIC, PREVIOUS_PUBLIC] },
  { path: "/batches", v1: [SECRET], v1a: [PUBLIC] },
];
const OTHERS = {
  v1: "whsec_YW5vdGhlciBzZWNyZXQ=",
  v1a: publicKeyTexts(`whsk_${Buffer.alloc(32, 3).toString("base64")}`).pem,
};

const lifetime = untilFileEnds();
const hook = await useReceiver(() => 200, lifetime);
const { prefix, brokers } = useKafka("checkers", { lifetime });
const to = (path: string) =>
  `type: webhook, standardWebhooks: true, endpoints: [{ url: "${hook.url}${path}" }]`;
const world = useProgram(
  `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 2 }
sources:
  - { id: web, writeKey: hooks-0123456789, destinations: [one, two, batches] }
  - { id: checked, writeKey: k-0123456789, destinations: [] }
destinations:
  - { id: one, ${to("/one")}, sharedSecret: ${SECRET}, signingKey: ${KEY} }
  - { id: two, ${to("/two")}, sharedSecret: s3cr3t Ü, previousSharedSecret: ${SECRET}, signingKey: ${KEY}, previousSigningKey: ${PREVIOUS_KEY} }
  - { id: batches, ${to("/batches")}, sharedSecret: ${SECRET}, signingKey: ${KEY}, batch: { calls: 7 } }
delivery: { allowNetworks: [127.0.0.0/8] }
ingest: { host: 127.0.0.1, port: 0, tls: { cert: cert.pem, key: key.pem } }
admin: { host: 127.0.0.1, port: 0, reload: true }
`,
  lifetime,
);
let [ingest, admin] = ["", ""];

beforeAll(async () => {
  const { cert, key } = issue({ name: "ingest", hosts: ["127.0.0.1"] });
  writeFileSync(join(world.directory, "cert.pem"), cert);
  writeFileSync(join(world.directory, "key.pem"), key);
  const program = await world.ready();
  ingest = `127.0.0.1:${(await program.logged("ingest.listening")).port}`;
  admin = await program.admin();
  // Prepared before the deliveries, because libraries reject a request that is more than five minutes old.
  await Promise.all(VERIFIERS.map(({ prepare }) => prepare(limit(), world.directory)));
  const batch = Array.from({ length: 100 }, (_, index) => {
    const properties = { text: "x".repeat((index % 3) * 10_000), ключ: [1.5, null, '"\u2028\\'] };
    const call = { type: "track", userId: `ü${index}`, event: "Café 😀", properties };
    return { ...call, messageId: `m.${index}% é` };
  });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const body = JSON.stringify({ batch, writeKey: "hooks-0123456789" });
  await request(`https://${ingest}/v1/batch`, { dispatcher, method: "POST", body });
  await dispatcher.close();
  // There are at least fifteen batches.
  await vi.waitFor(() => expect(hook.taken.length).toBeGreaterThan(214), { timeout: 60_000 });
});

/** The request as it arrived, and altered in each way that a library has to notice. */
function casesOf(key: string, other: string, { body, headers: all }: TakenRequest) {
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const headers = Object.fromEntries(names.map((name) => [name, all[name]]));
  const later = `${Number(headers["webhook-timestamp"]) + 1}`;
  return [
    { altered: null, key, body, headers },
    { altered: "body", key, body: `${body} `, headers },
    { altered: "id", key, body, headers: { ...headers, "webhook-id": "m" } },
    { altered: "time", key, body, headers: { ...headers, "webhook-timestamp": later } },
    { altered: "key", key: other, body, headers },
  ];
}

test.for(VERIFIERS)(
  "$name verifies $version of 200 deliveries and of batches, and refuses what is altered",
  async ({ version, prepare }, context) => {
    const command = await prepare(limit(), world.directory);
    if (typeof command === "string") return context.skip(command);
    const cases = KEYS.flatMap(({ path, [version]: keys }) =>
      keys.flatMap((key) => hook.at(path).flatMap((taken) => casesOf(key, OTHERS[version], taken))),
    );
    const results = JSON.parse(await outputOf(command, inputOf(version, cases))) as boolean[];
    expect(results.filter(Boolean).length).toBeGreaterThan(300);
    expect(cases.filter(({ altered }, at) => results[at] === (altered !== null))).toEqual([]);
  },
);

async function outputOf([file = "", ...args]: readonly string[], input = ""): Promise<string> {
  const options = { cwd: world.directory, maxBuffer: 2 ** 26 };
  const run = promisify(execFile)(file, args, options);
  run.child.stdin?.end(input);
  const { stdout, stderr } = await run.catch((error: unknown) => error as Awaited<typeof run>);
  if (IS_LONG && input === "") process.stdout.write(stdout);
  return `${stderr}${stdout}`;
}

/** Runs the program of a Python package. The arguments are separated by spaces. */
async function python(requirement: string, args: string, context: TestContext): Promise<string> {
  const reason = await prepareEnvironment(requirement, limit());
  if (reason !== null) context.skip(reason);
  const file = join(pythonOf(requirement), "..", `${requirement.split("==")[0]}`);
  return await outputOf([file, ...args.split(" ")]);
}

// Ingest responds slowly to invalid requests, so `npm test` omits most of them, and paths that are other names.
const LESS = "--max-examples=10 --phases=fuzzing --exclude-path-regex=^/v1/([bitpsga]|import)$";
const MORE = "--max-examples=500 --phases=examples,coverage,fuzzing";

test.for([
  ["ingest", () => `--url=https://${ingest} --exclude-tag=admin ${IS_LONG ? MORE : LESS}`],
  ["the admin port", () => `--url=http://${admin} --include-tag=admin ${IS_LONG ? MORE : ""}`],
] as const)("schemathesis finds that %s does what its document says", async ([, args], context) => {
  const run = `--config-file ${SETTINGS}/schemathesis.toml run ${OPENAPI} --tls-verify=false`;
  const command = `${run} --seed=7 --workers=32 --no-color ${args()}`.trim();
  const output = await python("schemathesis==4.32.5", command, context);
  expect(output).toMatch(/(\d+) generated, \1 passed/);
});

test("Spectral finds nothing in docs/openapi.yaml", async (context) => {
  const cli = "@stoplight/spectral-cli";
  const packages = { [cli]: "6.16.3", "@stoplight/spectral-owasp-ruleset": "2.0.1" };
  const had = await npmPackages("Spectral", packages, limit());
  if ("reason" in had) return context.skip(had.reason);
  symlinkSync(join(had.folder, "node_modules"), join(world.directory, "node_modules"));
  copyFileSync(join(SETTINGS, "spectral.yaml"), join(world.directory, "spectral.yaml"));
  const lint = [`node_modules/${cli}/dist/index.js`, "lint", "--fail-severity=hint"];
  const command = [process.execPath, ...lint, "--ruleset=spectral.yaml", OPENAPI];
  expect(await outputOf(command)).toContain(
    "No results with a severity of 'hint' or higher found!",
  );
});

test("sslyze finds that ingest's TLS is Mozilla's configuration `intermediate`", async (context) => {
  const args = `${ingest} --mozilla_config=intermediate --resum`;
  const output = await python("sslyze==6.3.1", args, context);
  expect(output).not.toContain("VULNERABLE");
  expect(output).toContain("With TLS Tickets: OK - Supported");
  // The only difference is that the certificate is one of a test.
  expect(output).toMatch(/Not compliant\.\s+\* certificate_path_validation: [^\n]+\s*$/);
});
