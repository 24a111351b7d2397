/** Programs that verify a JSON list of requests with an unmodified library of Standard Webhooks, and print the results. */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findTool } from "../../../tools/find-tool.ts";
import { prepareEnvironment, pythonOf } from "../servers/client-libraries.ts";

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

/** `prepare` returns the command, or the reason why there is none. `version` is that of the signatures. */
export const VERIFIERS = [
  { name: "npm", version: "v1", prepare: async () => [process.execPath, "-e", NODE] },
  { name: "PyPI", version: "v1", prepare: python },
  { name: "Go", version: "v1", prepare: go },
] as const;
