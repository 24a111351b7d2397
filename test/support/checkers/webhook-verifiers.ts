/**
 * Programs that verify requests, and print the results as a JSON list: for `v1` with the unmodified libraries of Standard
 * Webhooks and of Svix, which defined it, and for `v1a`, which these libraries do not know, with a library for Ed25519.
 *
 * Each program reads a line per request: its key, body, `webhook-id`, `webhook-timestamp` and `webhook-signature`, all in
 * base64. The key is a secret or, for `v1a`, a public key in DER.
 */

import { execFile } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findTool } from "../../../tools/find-tool.ts";
import { findJava } from "../../../tools/kafka/java-home.ts";
import { prepareEnvironment, pythonOf } from "../servers/client-libraries.ts";
import { npmPackages } from "../servers/framework-packages.ts";
import { prepareJava } from "../servers/maven-jars.ts";

const require = createRequire(import.meta.url);
const NODE_MODULE = [process.execPath, "--input-type=module", "-e"];
const NODE_LINES = `import { readFileSync } from "node:fs";
const decoded = (base64) => Buffer.from(base64, "base64");
const lines = readFileSync(0, "utf8").trim().split("\\n").map((line) => line.split(" ").map(decoded));`;

/** @param file the library. */
const nodeProgram = (file: string) => `${NODE_LINES}
import { Webhook } from "${file}";
console.log(JSON.stringify(lines.map((fields) => {
  const [key, body, id, timestamp, signature] = fields.map(String);
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  try { new Webhook(key).verify(body, headers); return true; } catch { return false; }
})))`;

const PYTHON_LINES = `import json, sys
from base64 import b64decode
lines = [[b64decode(field) for field in line.split()] for line in sys.stdin]`;

/** @param module the library's module. */
const pythonProgram = (module: string) => `${PYTHON_LINES}
from ${module} import Webhook, WebhookVerificationError
NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"]
def verified(key, body, *values):
    headers = dict(zip(NAMES, [value.decode() for value in values]))
    try: Webhook(key.decode()).verify(body, headers)
    except WebhookVerificationError: return False
    return True
print(json.dumps([verified(*line) for line in lines]))`;

const MODULE = "github.com/standard-webhooks/standard-webhooks/libraries";
const GO = `package main
import ("encoding/base64"; "encoding/json"; "io"; "net/http"; "os"; "strings"; webhooks "${MODULE}/go")
func main() {
  input, err := io.ReadAll(os.Stdin)
  if err != nil { panic(err) }
  results := []bool{}
  for _, line := range strings.Split(strings.TrimSpace(string(input)), "\\n") {
    fields := []string{}
    for _, field := range strings.Split(line, " ") {
      decoded, err := base64.StdEncoding.DecodeString(field)
      if err != nil { panic(err) }
      fields = append(fields, string(decoded))
    }
    headers := http.Header{}
    for at, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} { headers.Set(name, fields[2 + at]) }
    webhook, err := webhooks.NewWebhook(fields[0])
    results = append(results, err == nil && webhook.Verify([]byte(fields[1]), headers) == nil)
  }
  json.NewEncoder(os.Stdout).Encode(results)
}`;

const NODE_CRYPTO = `${NODE_LINES}
import { createPublicKey, verify } from "node:crypto";
console.log(JSON.stringify(lines.map(([der, body, id, timestamp, signatures]) => {
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  const signed = Buffer.concat([Buffer.from(\`\${id}.\${timestamp}.\`), body]);
  return \`\${signatures}\`.split(" ").some(
    (each) => each.startsWith("v1a,") && verify(null, signed, key, decoded(each.slice(4))));
})))`;

const PYTHON_CRYPTOGRAPHY = `${PYTHON_LINES}
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_der_public_key
def fits(key, signed, signature):
    try: return key.verify(signature, signed) is None
    except InvalidSignature: return False
def verified(der, body, id, timestamp, signatures):
    signed = b".".join([id, timestamp, body])
    entries = signatures.decode().split(" ")
    return any(fits(load_der_public_key(der), signed, b64decode(each[4:])) for each in entries if each.startswith("v1a,"))
print(json.dumps([verified(*line) for line in lines]))`;

const JDK = `import java.io.ByteArrayOutputStream; import java.security.*; import java.security.spec.X509EncodedKeySpec; import java.util.*;
class Verify {
  static final byte[] DOT = { '.' };
  static byte[] decoded(String base64) { return Base64.getDecoder().decode(base64); }
  static boolean fits(byte[] der, byte[] signed, String entry) {
    try {
      var verifier = Signature.getInstance("Ed25519");
      verifier.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(der)));
      verifier.update(signed);
      return entry.startsWith("v1a,") && verifier.verify(decoded(entry.substring(4)));
    } catch (GeneralSecurityException error) { throw new IllegalStateException(error); }
  }
  public static void main(String[] args) throws Exception {
    var results = new ArrayList<Boolean>();
    for (var line : new String(System.in.readAllBytes()).strip().split("\\n")) {
      var fields = Arrays.stream(line.split(" ")).map(Verify::decoded).toArray(byte[][]::new);
      var signed = new ByteArrayOutputStream();
      for (var part : new byte[][] { fields[2], DOT, fields[3], DOT, fields[1] }) signed.writeBytes(part);
      var entries = new String(fields[4]).split(" ");
      results.add(Arrays.stream(entries).anyMatch(each -> fits(fields[0], signed.toByteArray(), each)));
    }
    System.out.println(results);
  }
}`;

type Prepared = Promise<readonly string[] | string>;

async function npmSvix(signal: AbortSignal): Prepared {
  const had = await npmPackages("svix", { svix: "2.5.0" }, signal);
  if ("reason" in had) return had.reason;
  return [...NODE_MODULE, nodeProgram(createRequire(join(had.folder, "x.js")).resolve("svix"))];
}

async function go(signal: AbortSignal): Prepared {
  const fill = async (cwd: string) => {
    for (const args of ["mod init main", `get ${MODULE}/go@v0.0.1`])
      await promisify(execFile)("go", args.split(" "), { cwd, signal });
  };
  const what = { what: "Go's Standard Webhooks", size: "3 MB", name: "go-webhooks-module-0.0.1" };
  const tool = await findTool({ ...what, file: "go.mod", needs: "go", fill }, signal, () => {});
  if (tool.kind === "none") return tool.why;
  // The program is compiled when it runs, so that a mistake in it fails the test, and does not skip it.
  const folder = dirname(tool.file);
  writeFileSync(join(folder, "main.go"), GO);
  return ["go", "-C", folder, "run", "main.go"];
}

/** @param program uses the library that the requirement names. */
function python(requirement: string, program: string) {
  return async (signal: AbortSignal): Prepared => {
    const reason = await prepareEnvironment(requirement, signal);
    return reason ?? [pythonOf(requirement), "-c", program];
  };
}

const JAVA = {
  folder: join(import.meta.dirname, "java"),
  main: "VerifyWebhooks",
  what: "Java's Standard Webhooks",
  size: "1 MB",
};

async function maven(signal: AbortSignal): Prepared {
  const program = await prepareJava(JAVA, signal);
  return program.kind === "none" ? program.why : [program.java, ...program.args];
}

async function jdk(_: AbortSignal, folder: string): Prepared {
  const java = findJava();
  if ("problem" in java) return `there is no Java: ${java.problem}`;
  writeFileSync(join(folder, "Verify.java"), JDK);
  return [java.path, join(folder, "Verify.java")];
}

/** A request, as it is given to a verifier. */
export interface VerifierCase {
  readonly key: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

export function inputOf(version: "v1" | "v1a", cases: readonly VerifierCase[]): string {
  const lines = cases.map(({ key, body, headers }) => {
    const own =
      version === "v1" ? key : createPublicKey(key).export({ format: "der", type: "spki" });
    const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    const fields = [own, body, ...names.map((name) => `${headers[name]}`)];
    return fields.map((field) => Buffer.from(field).toString("base64")).join(" ");
  });
  return `${lines.join("\n")}\n`;
}

/** `prepare` returns the command, which may need files in the folder that it gets, or the reason why there is none. `version` is that of the signatures. */
export const VERIFIERS = [
  {
    name: "standardwebhooks from npm",
    version: "v1",
    prepare: async () => [...NODE_MODULE, nodeProgram(require.resolve("standardwebhooks"))],
  },
  { name: "svix from npm", version: "v1", prepare: npmSvix },
  {
    name: "standardwebhooks from PyPI",
    version: "v1",
    prepare: python("standardwebhooks==1.1.0", pythonProgram("standardwebhooks.webhooks")),
  },
  {
    name: "svix from PyPI",
    version: "v1",
    prepare: python("svix==2.9.1", pythonProgram("svix.webhooks")),
  },
  { name: "standardwebhooks from Maven", version: "v1", prepare: maven },
  { name: "standard-webhooks for Go", version: "v1", prepare: go },
  { name: "Node's crypto", version: "v1a", prepare: async () => [...NODE_MODULE, NODE_CRYPTO] },
  {
    name: "Python's cryptography",
    version: "v1a",
    prepare: python("cryptography==46.0.3", PYTHON_CRYPTOGRAPHY),
  },
  { name: "the JDK", version: "v1a", prepare: jdk },
] as const;
