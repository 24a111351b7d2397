// The code in docs/webhooks.md, run in its languages, with signatures of real requests.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/webhooks.md"), "utf8");
const directory = mkdtempSync(join(tmpdir(), "switchyard-examples-"));
afterAll(() => rmSync(directory, { recursive: true }));

interface Case {
  readonly body: string;
  readonly header: string;
  readonly secret: string;
}

let cases: readonly (Case & { readonly expected: boolean })[] = [];

beforeAll(async () => {
  await using server = await rawServer((s) => s.end("HTTP/1.1 204 N\r\nConnection: close\r\n\r\n"));
  await using http = httpClient({ destination: { sharedSecret: "s3cr3t Ü" } });
  await http.post(endpointOf(server.url));
  const [head = "", latin1 = ""] = (server.received[0] ?? "").split("\r\n\r\n");
  const body = Buffer.from(latin1, "latin1").toString();
  const header = /X-Signature: ([0-9a-f]+)/.exec(head)?.[1] ?? "";
  expect(header).toHaveLength(40);
  const good = { body, header, secret: "s3cr3t Ü" };
  cases = [
    { ...good, expected: true },
    { ...good, body: `${body} `, expected: false },
    { ...good, secret: "s3cr3t", expected: false },
    { ...good, header: "", expected: false },
    { ...good, header: header.slice(0, 38), expected: false },
    { ...good, header: `${header}00`, expected: false },
    { ...good, header: "☕".repeat(40), expected: false },
    { ...good, header: "z".repeat(40), expected: false },
  ];
});

function example(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(page) ?? [];
  if (code === undefined) throw new Error(`docs/webhooks.md has no example in ${language}`);
  return code;
}

const LANGUAGES = [
  {
    language: "js",
    command: process.execPath,
    version: "--version",
    args: ["run.mjs"],
    files: () => ({
      "hook.mjs": example("js"),
      "run.mjs": `import { readFileSync } from "node:fs";
        import { isFromSwitchyard } from "./hook.mjs";
        const cases = JSON.parse(readFileSync(0, "utf8"));
        console.log(JSON.stringify(cases.map(({ body, header, secret }) =>
          isFromSwitchyard(Buffer.from(body), header, secret))));`,
    }),
  },
  {
    language: "python",
    command: "python3",
    version: "--version",
    args: ["run.py"],
    files: () => ({
      "hook.py": example("python"),
      "run.py": [
        "import json, sys",
        "from hook import is_from_switchyard",
        "cases = json.loads(sys.stdin.buffer.read())",
        "results = [is_from_switchyard(c['body'].encode(), c['header'], c['secret']) for c in cases]",
        "print(json.dumps(results))",
      ].join("\n"),
    }),
  },
  {
    language: "go",
    command: "go",
    version: "version",
    args: ["run", "."],
    files: () => ({
      "go.mod": "module example\n\ngo 1.21\n",
      "hook/hook.go": example("go"),
      "main.go": `package main
        import ("encoding/json"; "os"; "example/hook")
        type given struct { Body, Header, Secret string }
        func main() {
          var cases []given
          if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil { panic(err) }
          results := []bool{}
          for _, c := range cases {
            results = append(results, hook.IsFromSwitchyard([]byte(c.Body), c.Header, c.Secret))
          }
          json.NewEncoder(os.Stdout).Encode(results)
        }`,
    }),
  },
  {
    language: "ruby",
    command: "ruby",
    version: "--version",
    args: ["run.rb"],
    files: () => ({
      "hook.rb": example("ruby"),
      "run.rb": `require "json"
        require_relative "hook"
        cases = JSON.parse($stdin.read)
        puts JSON.generate(cases.map { |c| from_switchyard?(c["body"], c["header"], c["secret"]) })`,
    }),
  },
  {
    language: "java",
    command: "javac",
    version: "--version",
    args: ["Run.java", "Signature.java"],
    files: () => ({
      "Signature.java": example("java"),
      "Run.java": `import java.util.*;
        class Run {
          static byte[] bytes(String hex) { return HexFormat.of().parseHex(hex.substring(1)); }
          public static void main(String[] args) throws Exception {
            List<Boolean> results = new ArrayList<>();
            Scanner lines = new Scanner(System.in);
            while (lines.hasNextLine()) {
              String[] one = lines.nextLine().split(" ");
              results.add(Signature.isFromSwitchyard(
                bytes(one[0]), new String(bytes(one[1]), "UTF-8"), new String(bytes(one[2]), "UTF-8")));
            }
            System.out.println(results);
          }
        }`,
    }),
  },
] as const;

/** The x makes an empty text visible as a field. */
function hexLines(): string {
  const hex = (text: string) => `x${Buffer.from(text).toString("hex")}`;
  return cases.map((c) => `${hex(c.body)} ${hex(c.header)} ${hex(c.secret)}\n`).join("");
}

test.for(LANGUAGES)(
  "the example in $language verifies what was sent, and nothing else",
  (row, context) => {
    const { language, command, version, args, files } = row;
    if (spawnSync(command, [version]).status !== 0) return context.skip(`there is no ${command}`);
    const folder = join(directory, language);
    for (const [name, text] of Object.entries(files())) {
      mkdirSync(join(folder, name, ".."), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod", GOPROXY: "off" };
    const options = { cwd: folder, env, encoding: "utf8" } as const;
    let output = execFileSync(command, [...args], { ...options, input: JSON.stringify(cases) });
    // Java cannot parse JSON without a library, so each case is a line of three texts in hex.
    if (language === "java")
      output = execFileSync("java", ["Run"], { ...options, input: hexLines() });
    expect(JSON.parse(output)).toEqual(cases.map(({ expected }) => expected));
  },
);

test("Standard Webhooks' form of a secret is what the page says", () => {
  expect(page).toContain(`\`whsec_${Buffer.from("s3cr3t").toString("base64")}\``);
});
