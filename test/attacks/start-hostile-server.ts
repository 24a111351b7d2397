/** Starts `hostile-server.ts`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { issue } from "../support/build/certificates.ts";

export interface HostileServer extends AsyncDisposable {
  readonly plainUrl: string;
  readonly tlsUrl: string;
  /** PEM text of the CA that issued the server's certificate. */
  readonly ca: string;
  /** Makes the server also listen at this port of 127.0.0.1, in plaintext. Resolves when it listens. */
  listenAt(port: number): Promise<void>;
  /** Gives the server only the CPU time that other processes leave, as if it had a separate machine. */
  yieldProcessor(): void;
}

export async function startHostileServer(): Promise<HostileServer> {
  const authority = issue({ name: "an authority", isCa: true });
  const { cert, key } = issue({ name: "hostile", hosts: ["127.0.0.1"], by: authority });
  const file = join(import.meta.dirname, "hostile-server.ts");
  const argv = [file, JSON.stringify({ cert, key })];
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const { plain, tls } = JSON.parse(line) as { plain: number; tls: number };
  return {
    plainUrl: `http://127.0.0.1:${plain}`,
    tlsUrl: `https://127.0.0.1:${tls}`,
    ca: authority.cert,
    listenAt: async (port) => {
      child.stdin.write(`${port}\n`);
      await once(lines, "line");
    },
    yieldProcessor: () => {
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
