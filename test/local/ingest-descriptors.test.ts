// Idle connections leave enough file descriptors for the other stages of the process.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const DESCRIPTORS = 200;
const CONNECTIONS = 300;

const script = join(import.meta.dirname, "../support/servers/ingest-with-few-descriptors.ts");
let child: ChildProcess | undefined;
let sockets: readonly Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  child?.kill("SIGKILL");
});

async function reported(asked: ChildProcess): Promise<Readonly<Record<string, number>>> {
  const [message] = (await once(asked, "message")) as [Readonly<Record<string, number>>];
  return message;
}

test("300 idle connections take half of what is left", async () => {
  const limited = `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`;
  child = spawn("sh", ["-c", limited, process.execPath, script], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const { port = 0, spareAtStart = 0 } = await reported(child);
  expect(spareAtStart).toBeLessThan(DESCRIPTORS);
  sockets = Array.from({ length: CONNECTIONS }, () => connect({ host: "127.0.0.1", port }));
  await Promise.all(
    sockets.map((socket) => {
      socket.on("error", () => undefined);
      return Promise.race([once(socket, "connect"), once(socket, "close")]);
    }),
  );
  // A response on a new connection shows that the others have been accepted or closed.
  const response = await fetch(`http://127.0.0.1:${port}/v1/track`, {
    method: "POST",
    body: JSON.stringify({ userId: "u", event: "e", writeKey: "web-key" }),
  });
  expect(response.status).toBe(200);
  child.send("spare?");
  const { spare = 0 } = await reported(child);
  expect(spare).toBeGreaterThan(spareAtStart / 3);
});
