/**
 * An endpoint that is no good, in one of six ways:
 *
 *   refuses    nobody listens there
 *   hangs      requests are read, and never answered
 *   drips      an answer of which a byte comes now and then, and never all
 *   fails      503 to everything, at once
 *   floods     headers without end, of a process of its own. It is busy with them, so it has the
 *              lowest priority: an endpoint has a machine of its own
 *   topic      it is a good one, but its destination's topic is deleted
 */

import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { startHostileServer } from "../test/attacks/start-hostile-server.ts";
import { freePort } from "../tools/kafka/free-port.ts";

export const SICKNESSES = ["refuses", "hangs", "drips", "fails", "floods", "topic"] as const;
export type Sickness = (typeof SICKNESSES)[number];

const DRIP_MS = 200;
const DRIP_BYTES = 1_000;

export interface SickServer extends Disposable {
  readonly url: string;
}

export async function startSickServer(sickness: Sickness): Promise<SickServer> {
  if (sickness === "refuses") {
    return { url: `http://127.0.0.1:${await freePort()}/`, [Symbol.dispose]: () => undefined };
  }
  if (sickness === "floods") {
    const hostile = await startHostileServer();
    hostile.yieldProcessor();
    const url = `${hostile.plainUrl}/tiny-headers`;
    return { url, [Symbol.dispose]: () => void hostile[Symbol.asyncDispose]() };
  }
  const server: Server = createServer(LISTENERS[sickness]);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const LISTENERS: Readonly<Record<Exclude<Sickness, "refuses" | "floods">, RequestListener>> = {
  hangs: (request) => request.resume(),
  drips: (request, response) => {
    request.resume();
    response.writeHead(200, { "content-length": DRIP_BYTES });
    response.flushHeaders();
    const timer = setInterval(() => response.write("x"), DRIP_MS);
    response.on("close", () => clearInterval(timer));
  },
  fails: (request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(503, { "content-length": 0 }).end());
  },
  topic: (request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200, { "content-length": 0 }).end());
  },
};
