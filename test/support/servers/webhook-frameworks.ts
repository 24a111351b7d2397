/**
 * The examples of docs/webhooks.md#frameworks as servers. In addition to the page's code, each server has only the
 * parts that a reader's own application would have: imports, a port and a route.
 */

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { findOnPath } from "../../../tools/kafka/java-home.ts";
import { ROOT } from "../project/tracked-texts.ts";
import { prepareEnvironment, pythonOf } from "./client-libraries.ts";
import { DJANGO, FLASK, NODE_PACKAGES, nodePackages, springJars } from "./framework-packages.ts";

/** The code from the page: the function for a language, and the example for a framework. */
export interface ExampleCode {
  readonly verification: string;
  readonly framework: string;
}

/** The commands to run in the folder, one after another; the last command is the server. */
export type Commands = readonly (readonly [string, ...string[]])[];

export interface Framework {
  /** The heading on the page. */
  readonly heading: string;
  readonly language: "js" | "python" | "go" | "java" | "ruby";
  /** The version on the page; null for the version of its language. */
  readonly version: string | null;
  /** Writes the files into the folder. Returns a string with the reason if the framework is not available. */
  prepare(folder: string, code: ExampleCode, signal: AbortSignal): Promise<Commands | string>;
}

const PORT = "process.env.PORT";
const IMPORT = 'import { parsePayload, verify } from "switchyard-sdk/webhooks";';
/** Connects handlers of Request and Response to Node's own server. */
const BRIDGE = `
createServer(async (request, response) => {
  const body = await buffer(request);
  const web = new Request("http://localhost" + request.url, { method: "POST", headers: request.headers, body });
  response.writeHead((await handler(web)).status).end();
}).listen(${PORT}, "127.0.0.1");`;
const BRIDGE_IMPORTS = `import { createServer } from "node:http"; import { buffer } from "node:stream/consumers"; ${IMPORT}`;

export const FRAMEWORKS: readonly Framework[] = [
  node("Express", "express", (code) => `${code}\napp.listen(${PORT}, "127.0.0.1");`),
  node(
    "Fastify",
    "fastify",
    (code) =>
      `import Fastify from "fastify"; ${IMPORT}\nconst app = Fastify();\n${code}\n` +
      `await app.listen({ port: Number(${PORT}), host: "127.0.0.1" });`,
  ),
  node("Next.js", null, (code) => `${BRIDGE_IMPORTS}\n${code}\nconst handler = POST;${BRIDGE}`),
  node(
    "Hono",
    "hono",
    (code) =>
      `${BRIDGE_IMPORTS} import { Hono } from "hono";\nconst app = new Hono();\n${code}\n` +
      `const handler = (request) => app.fetch(request);${BRIDGE}`,
  ),
  node(
    "Koa",
    "koa",
    (code) =>
      `import Koa from "koa"; import getRawBody from "raw-body"; ${IMPORT}\n` +
      `const app = new Koa();\nconst take = async () => undefined;\n${code}\n` +
      `app.listen(${PORT}, "127.0.0.1");`,
  ),
  python("Flask", FLASK, () => 'app.run(host="127.0.0.1", port=int(os.environ["PORT"]))'),
  python(
    "Django",
    DJANGO,
    () => `
from django.conf import settings
from django.core.management import execute_from_command_line
from django.urls import path
settings.configure(DEBUG=False, ALLOWED_HOSTS=["*"], SECRET_KEY="s", ROOT_URLCONF=__name__,
                   MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"])
urlpatterns = [path("hook", hook)]
execute_from_command_line(["run", "runserver", "127.0.0.1:" + os.environ["PORT"], "--noreload"])`,
  ),
  {
    heading: "Go",
    language: "go",
    version: null,
    prepare: async (folder, { verification, framework }) => {
      if (findOnPath("go") === null) return "there is no go";
      save(folder, "go.mod", "module example\n\ngo 1.22\n");
      save(folder, "hook/verify.go", verification);
      save(folder, "hook/hook.go", framework);
      save(
        folder,
        "main.go",
        `package main
        import ("example/hook"; "net/http"; "os")
        func main() {
          http.HandleFunc("POST /hook", hook.Hook)
          panic(http.ListenAndServe("127.0.0.1:" + os.Getenv("PORT"), nil))
        }`,
      );
      return [["go", "build", "-o", "server", "."], ["./server"]];
    },
  },
  {
    heading: "Spring",
    language: "java",
    version: "3.5.7",
    prepare: async (folder, { verification, framework }, signal) => {
      const jars = await springJars(signal);
      if ("reason" in jars) return jars.reason;
      // Spring searches for components in the package of the application, so the package must have a name.
      const inPackage = (code: string) => `package example;\n${code}`;
      save(folder, "Signature.java", inPackage(verification));
      save(folder, "HookController.java", inPackage(framework));
      save(
        folder,
        "Application.java",
        inPackage(`@org.springframework.boot.autoconfigure.SpringBootApplication
        public class Application {
          public static void main(String[] args) {
            org.springframework.boot.SpringApplication.run(Application.class, args);
          }
        }`),
      );
      const path = `.:${join(jars.folder, "*")}`;
      const sources = ["Signature.java", "HookController.java", "Application.java"];
      return [
        ["javac", "-cp", path, "-d", ".", ...sources],
        ["sh", "-c", 'exec java -cp "$1" example.Application --server.port=$PORT', "sh", path],
      ];
    },
  },
  {
    heading: "Rails",
    language: "ruby",
    version: null,
    prepare: async (folder, { verification, framework }) => {
      if (findOnPath("ruby") === null) return "there is no ruby";
      save(
        folder,
        "server.rb",
        `require "action_controller/railtie"
        require "rack/handler/webrick" rescue require "rackup/handler/webrick"
        class Example < Rails::Application
          config.eager_load = false
          config.secret_key_base = "s"
          config.hosts.clear
          config.logger = Logger.new(nil)
        end
        ${verification}\n${framework}
        Example.initialize!
        Rails.application.routes.draw { post "/hook", to: "hooks#create" }
        (defined?(Rackup) ? Rackup : Rack)::Handler::WEBrick.run(
          Rails.application, Host: "127.0.0.1", Port: ENV.fetch("PORT").to_i)`,
      );
      return [
        ["ruby", "-e", 'require "action_controller/railtie"; require "webrick"'],
        ["ruby", "server.rb"],
      ];
    },
  },
];

function node(
  heading: string,
  name: keyof typeof NODE_PACKAGES | null,
  program: (code: string) => string,
): Framework {
  return {
    heading,
    language: "js",
    version: name === null ? null : NODE_PACKAGES[name],
    prepare: async (folder, { framework }, signal) => {
      const packages = name === null ? null : await nodePackages(signal);
      if (packages !== null && "reason" in packages) return packages.reason;
      save(folder, "server.mjs", program(framework));
      const webhooks = JSON.stringify(join(ROOT, "src/sdk/webhooks/index.ts"));
      const manifest = '{ "type": "module", "exports": { "./webhooks": "./webhooks.js" } }';
      save(folder, "node_modules/switchyard-sdk/package.json", manifest);
      save(folder, "node_modules/switchyard-sdk/webhooks.js", `export * from ${webhooks};`);
      for (const used of packages === null ? [] : Object.keys(NODE_PACKAGES)) {
        const target = join(packages?.folder ?? "", "node_modules", used);
        symlinkSync(target, join(folder, "node_modules", used));
      }
      return [[process.execPath, "server.mjs"]];
    },
  };
}

function python(heading: string, requirement: string, end: () => string): Framework {
  return {
    heading,
    language: "python",
    version: requirement.replace(/^.*==/, ""),
    prepare: async (folder, { verification, framework }, signal) => {
      const reason = await prepareEnvironment(requirement, signal);
      if (reason !== null) return reason;
      save(folder, "server.py", `${verification}\n${framework}\n${end()}\n`);
      return [[pythonOf(requirement), "server.py"]];
    },
  };
}

function save(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
