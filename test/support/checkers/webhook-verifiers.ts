/**
 * Programs that verify a JSON list of requests, and print the results: for `v1` with an unmodified library of Standard
 * Webhooks, and for `v1a`, which these libraries do not know, with a library for Ed25519.
 */

import { execFile } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findTool } from "../../../tools/find-tool.ts";
import { findJava } from "../../../tools/kafka/java-home.ts";
import { prepareEnvironment, pythonOf } from "../servers/client-libraries.ts";

const NODE_MODULE = [process.execPath, "--input-type=module", "-e"];
const NODE = `import { Webhook } from "${import.meta.resolve("standardwebhooks")}";
import { readFileSync } from "node:fs";
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(({ key, body, headers }) => {
  try { return new Webhook(key).verify(body, headers) !== null; } catch { return false; }
})))`;

const REQUIREMENT = "standardwebhooks==1.1.0";
const PYTHON = `import json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
def verified(key, body, headers, altered):
    try: return Webhook(key).verify(body, headers) is not None
    except WebhookVerificationError: return False
print(json.dumps([verified(**one) for one in json.load(sys.stdin)]))`;

const MODULE = "github.com/standard-webhooks/standard-webhooks/libraries";
const GO = `package main
import ("encoding/json"; "net/http"; "os"; webhooks "${MODULE}/go")
func main() {
  var requests []struct { Key, Body string; Headers map[string]string }
  if json.NewDecoder(os.Stdin).Decode(&requests) != nil { panic("the input is not JSON") }
  results := []bool{}
  for _, one := range requests {
    headers := http.Header{}
    for name, value := range one.Headers { headers.Set(name, value) }
    webhook, err := webhooks.NewWebhook(one.Key)
    results = append(results, err == nil && webhook.Verify([]byte(one.Body), headers) == nil)
  }
  json.NewEncoder(os.Stdout).Encode(results)
}`;

/** Each of these programs reads lines of a public key in DER, the signed bytes and `webhook-signature`, all in base64. */
const NODE_CRYPTO = `import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
const decoded = (base64) => Buffer.from(base64, "base64");
console.log(JSON.stringify(readFileSync(0, "utf8").trim().split("\\n").map((line) => {
  const [der, signed, signatures] = line.split(" ").map(decoded);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return \`\${signatures}\`.split(" ").some(
    (each) => each.startsWith("v1a,") && verify(null, signed, key, decoded(each.slice(4))));
})))`;

const CRYPTOGRAPHY = "cryptography==46.0.3";
const PYTHON_CRYPTOGRAPHY = `import json, sys
from base64 import b64decode
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_der_public_key
def fits(key, signed, signature):
    try: return key.verify(signature, signed) is None
    except InvalidSignature: return False
def verified(der, signed, signatures):
    entries = signatures.decode().split(" ")
    return any(fits(load_der_public_key(der), signed, b64decode(each[4:])) for each in entries if each.startswith("v1a,"))
print(json.dumps([verified(*map(b64decode, line.split())) for line in sys.stdin]))`;

const JDK = `import java.security.*; import java.security.spec.X509EncodedKeySpec; import java.util.*;
class Verify {
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
      var entries = new String(fields[2]).split(" ");
      results.add(Arrays.stream(entries).anyMatch(each -> fits(fields[0], fields[1], each)));
    }
    System.out.println(results);
  }
}`;

async function python(signal: AbortSignal): Promise<readonly string[] | string> {
  const reason = await prepareEnvironment(REQUIREMENT, signal);
  return reason ?? [pythonOf(REQUIREMENT), "-c", PYTHON];
}

async function go(signal: AbortSignal): Promise<readonly string[] | string> {
  const fill = async (cwd: string) => {
    writeFileSync(join(cwd, "main.go"), GO);
    for (const args of ["mod init main", `get ${MODULE}@v0.0.1`, "build"])
      await promisify(execFile)("go", args.split(" "), { cwd, signal });
  };
  const what = { what: "Go's Standard Webhooks", size: "3 MB", name: "go-standard-webhooks-0.0.1" };
  const tool = await findTool({ ...what, file: "main", needs: "go", fill }, signal, () => {});
  return tool.kind === "none" ? tool.why : [tool.file];
}

async function pythonCryptography(signal: AbortSignal): Promise<readonly string[] | string> {
  const reason = await prepareEnvironment(CRYPTOGRAPHY, signal);
  return reason ?? [pythonOf(CRYPTOGRAPHY), "-c", PYTHON_CRYPTOGRAPHY];
}

async function jdk(_: AbortSignal, folder: string): Promise<readonly string[] | string> {
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
  if (version === "v1") return JSON.stringify(cases);
  const lines = cases.map(({ key, body, headers }) => {
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const der = createPublicKey(key).export({ format: "der", type: "spki" });
    const fields = [der, signed, `${headers["webhook-signature"]}`];
    return fields.map((field) => Buffer.from(field).toString("base64")).join(" ");
  });
  return `${lines.join("\n")}\n`;
}

/** `prepare` returns the command, which may need files in the folder that it gets, or the reason why there is none. `version` is that of the signatures. */
export const VERIFIERS = [
  { name: "npm", version: "v1", prepare: async () => [...NODE_MODULE, NODE] },
  { name: "PyPI", version: "v1", prepare: python },
  { name: "Go", version: "v1", prepare: go },
  { name: "Node", version: "v1a", prepare: async () => [...NODE_MODULE, NODE_CRYPTO] },
  { name: "Python's cryptography", version: "v1a", prepare: pythonCryptography },
  { name: "the JDK", version: "v1a", prepare: jdk },
] as const;
