/**
 * Runs a page with unmodified browser libraries in a real Chromium, if the machine has one. Nothing is downloaded; on
 * Debian, `apt-get install chromium` installs it.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ELSEWHERE = [
  "/usr/lib/chromium/chromium",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

export const NO_CHROMIUM =
  "there is no Chromium: install one (Debian: apt-get install chromium), or set SWITCHYARD_CHROMIUM to its path";

/** The path of Chromium; null if it is not installed. */
export function findChromium(): string | null {
  const given = process.env.SWITCHYARD_CHROMIUM;
  if (given !== undefined) return existsSync(given) ? given : null;
  const folders = (process.env.PATH ?? "").split(delimiter).concat("/usr/bin", "/usr/local/bin");
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...paths, ...ELSEWHERE].find((path) => existsSync(path)) ?? null;
}

export interface Page extends AsyncDisposable {
  /** Resolves with the result of the page's script; rejects with its error. */
  readonly done: Promise<unknown>;
}

/**
 * Opens a page with a separate origin.
 *
 * @param library a script file, which the page gets at `/library.js`.
 * @param script the body of an async function; its result is JSON.
 * @param loadsIt true if the page's own script loads the library; otherwise, the library is loaded before that script.
 */
export async function openPage(
  chromium: string,
  library: string,
  script: string,
  loadsIt = false,
): Promise<Page> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    if (request.url === "/library.js") {
      response.setHeader("content-type", "text/javascript");
      response.end(readFileSync(library));
    } else if (request.url === "/done") {
      let text = "";
      request.on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", () => {
        response.end();
        const { result, error } = JSON.parse(text) as { result?: unknown; error?: string };
        if (error === undefined) resolve(result);
        else reject(new Error(error));
      });
    } else {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(
        request.url === "/" ? pageOf(script, loadsIt) : "<!doctype html><title>Away</title>",
      );
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const profile = mkdtempSync(join(tmpdir(), "switchyard-chromium-"));
  const { port } = server.address() as AddressInfo;
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const quiet = ["--no-first-run", "--disable-background-networking", "--disable-extensions"];
  const argv = [...flags, ...quiet, "--remote-debugging-port=0", `--user-data-dir=${profile}`];
  const child = spawn(chromium, [...argv, `http://127.0.0.1:${port}/`], { stdio: "ignore" });
  const ended = new Promise<void>((settle) => {
    child.once("error", (error) => {
      reject(error);
      settle();
    });
    child.once("close", (status) => {
      reject(new Error(`${chromium} ended with ${status}`));
      settle();
    });
  });
  return {
    done: promise,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
      promise.catch(() => undefined);
      server.closeAllConnections();
      server.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

function pageOf(script: string, loadsIt: boolean): string {
  return `<!doctype html><meta charset="utf-8"><title>A page</title>
${loadsIt ? "" : '<script src="/library.js"></script>'}
<script>
const report = (what) => fetch("/done", { method: "POST", body: JSON.stringify(what) });
(async () => { ${script} })().then(
  (result) => report({ result: result ?? null }),
  (error) => report({ error: String(error?.stack ?? error) }),
);
</script>`;
}
