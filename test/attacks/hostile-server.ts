/**
 * A program that responds to requests as `hostile-responses.ts` defines, in plaintext and over TLS. It is a separate
 * process, so that the cost for the attacked process can be measured.
 *
 * Its only argument is JSON with the certificate and the key. It prints its two ports as one line of JSON, and ends
 * when its standard input ends. For each port on its standard input, it also listens at this port in plaintext, and
 * then prints the port.
 */

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { createServer as createTlsServer, TLSSocket } from "node:tls";

import { HOSTILE_RESPONSES, type HostileResponse } from "./hostile-responses.ts";

const WRITE_BYTES = 32_768;
/** The number of single bytes that are written before other connections get their turn. */
const BYTES_A_TURN = 256;
/** Maximum bytes in a socket that the other side has not read yet. */
const HELD_MAX_BYTES = 1_024;

const byPath = new Map(HOSTILE_RESPONSES.map((response) => [`/${response.name}`, response]));
const credentials = JSON.parse(process.argv[2] ?? "{}") as { cert: string; key: string };

/** TCP sockets by the port of the other side. */
const tcpOf = new Map<number | undefined, Socket>();
const tlsServer = createTlsServer(credentials, serve);
tlsServer.on("tlsClientError", () => undefined);
tlsServer.on("connection", (socket: Socket) => {
  const { remotePort } = socket;
  tcpOf.set(remotePort, socket);
  socket.on("close", () => tcpOf.delete(remotePort));
});

const servers = [createServer(serve), tlsServer];
for (const server of servers) server.listen(0, "127.0.0.1");
await Promise.all(servers.map((server) => once(server, "listening")));
const [plain, tls] = servers.map((server) => (server.address() as AddressInfo).port);
process.stdout.write(`${JSON.stringify({ plain, tls })}\n`);
const asked = createInterface({ input: process.stdin });
asked.on("close", () => process.exit());
asked.on("line", (port) => {
  createServer(serve).listen(Number(port), "127.0.0.1", () => process.stdout.write(`${port}\n`));
});

function serve(socket: Socket): void {
  socket.setNoDelay(true);
  // The other side closes connections, which is what the attacks test.
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    const [, path = ""] = chunk.toString("latin1").split(" ", 2);
    const response = byPath.get(path);
    if (response !== undefined) give(socket, response);
  });
}

function give(socket: Socket, { start, more, write, end }: HostileResponse): void {
  const say = write === "byte" ? sayBytes : sayWhole;
  say(socket, Buffer.from(start, "latin1"), () => {
    if (more !== null) flood(socket, more, say);
    else if (end === "close") socket.end();
    else if (end === "reset") reset(socket);
  });
}

/** Only the TCP socket below a TLS socket can be reset. */
function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) tcpOf.get(socket.remotePort)?.resetAndDestroy();
  else socket.resetAndDestroy();
}

type Say = (socket: Socket, bytes: Buffer, then: () => void) => void;

const sayWhole: Say = (socket, bytes, then) => {
  if (bytes.length === 0) then();
  else socket.write(bytes, then);
};

const sayBytes: Say = (socket, bytes, then) => {
  let at = 0;
  const turn = () => {
    if (socket.destroyed) return;
    const end = Math.min(bytes.length, at + BYTES_A_TURN);
    if (socket.writableLength < HELD_MAX_BYTES) {
      for (; at < end; at += 1) socket.write(bytes.subarray(at, at + 1));
    }
    if (at === bytes.length) then();
    else setImmediate(turn);
  };
  turn();
};

function flood(socket: Socket, more: (number: number) => string, say: Say): void {
  let number = 0;
  const next = () => {
    if (socket.destroyed) return;
    let text = "";
    while (text.length < WRITE_BYTES) {
      text += more(number);
      number += 1;
    }
    say(socket, Buffer.from(text, "latin1"), () => setImmediate(next));
  };
  next();
}
