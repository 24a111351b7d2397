/** Forward proxies that others wrote, in three languages. Each is installed once per machine, and runs as a process. */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { findTool } from "../../../tools/find-tool.ts";
import { prepareEnvironment, pythonOf } from "./client-libraries.ts";
import { npmPackages } from "./framework-packages.ts";

/** How a proxy is started; files of a certificate and its key for a proxy with TLS. */
export interface ProxyStart {
  readonly port: number;
  readonly user: string | null;
  readonly password: string;
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

interface Command {
  readonly argv: readonly string[];
  /** The folder in which the command runs. */
  readonly cwd: string;
}

export interface RealProxy {
  readonly name: string;
  /** What counts if the endpoint refuses the connection: some proxies end the connection without a response to CONNECT. */
  readonly whenRefused: RegExp;
  /** The command, or the reason why the proxy is not available. */
  prepare(start: ProxyStart, folder: string, signal: AbortSignal): Promise<Command | string>;
}

const NODE = `import { readFileSync } from "node:fs";
import { Server } from "proxy-chain";
const { port, user, password, tls } = JSON.parse(process.argv[1]);
const server = new Server({
  host: "127.0.0.1",
  port,
  ...(tls && { serverType: "https", httpsOptions: { cert: readFileSync(tls.cert), key: readFileSync(tls.key) } }),
  prepareRequestFunction: ({ username, password: given }) => ({
    requestAuthentication: user !== null && (username !== user || given !== password),
  }),
});
await server.listen();`;

const GOPROXY = "github.com/elazarl/goproxy";
const GO = `package main
import ("encoding/json"; "fmt"; "net/http"; "os"; "${GOPROXY}"; "${GOPROXY}/ext/auth")
func main() {
  var start struct { Port int; User *string; Password string; Tls *struct { Cert, Key string } }
  if json.Unmarshal([]byte(os.Args[1]), &start) != nil { panic("the argument is not JSON") }
  proxy := goproxy.NewProxyHttpServer()
  if start.User != nil {
    auth.ProxyBasic(proxy, "proxy", func(user, password string) bool {
      return user == *start.User && password == start.Password
    })
  }
  address := fmt.Sprintf("127.0.0.1:%d", start.Port)
  if start.Tls != nil { panic(http.ListenAndServeTLS(address, start.Tls.Cert, start.Tls.Key, proxy)) }
  panic(http.ListenAndServe(address, proxy))
}`;

const PROXY_PY = "proxy.py==2.4.10";

export const REAL_PROXIES: readonly RealProxy[] = [
  {
    name: "proxy-chain (Node)",
    whenRefused: /^the proxy .* closed the connection before it responded to CONNECT$/,
    prepare: async (start, _folder, signal) => {
      const had = await npmPackages("proxy-chain", { "proxy-chain": "3.0.1" }, signal);
      if ("reason" in had) return had.reason;
      const argv = [process.execPath, "--input-type=module", "-e", NODE, JSON.stringify(start)];
      return { argv, cwd: had.folder };
    },
  },
  {
    name: "goproxy (Go)",
    whenRefused: /^unreachable$/,
    prepare: async (start, folder, signal) => {
      const fill = async (cwd: string) => {
        writeFileSync(join(cwd, "main.go"), GO);
        for (const args of [
          "mod init main",
          `get ${GOPROXY}@v1.8.4 ${GOPROXY}/ext@v0.0.0-20200809112317-0581fc3aee2d`,
          "mod tidy",
          "build",
        ])
          await promisify(execFile)("go", args.split(" "), { cwd, signal });
      };
      const what = { what: "goproxy", size: "10 MB", name: "goproxy-1" };
      const tool = await findTool({ ...what, file: "main", needs: "go", fill }, signal, () => {});
      if (tool.kind === "none") return tool.why;
      return { argv: [tool.file, JSON.stringify(start)], cwd: folder };
    },
  },
  {
    name: "proxy.py (Python)",
    whenRefused: /^unreachable$/,
    prepare: async ({ port, user, password, tls }, folder, signal) => {
      const reason = await prepareEnvironment(PROXY_PY, signal);
      if (reason !== null) return reason;
      const own = [
        "--hostname=127.0.0.1",
        `--port=${port}`,
        "--num-workers=1",
        `--data-dir=${folder}`,
      ];
      const auth = user === null ? [] : [`--basic-auth=${user}:${password}`];
      const secure = tls === null ? [] : [`--cert-file=${tls.cert}`, `--key-file=${tls.key}`];
      return { argv: [pythonOf(PROXY_PY), "-m", "proxy", ...own, ...auth, ...secure], cwd: folder };
    },
  },
];
