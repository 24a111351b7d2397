/**
 * An endpoint that is no good, in one of four ways:
 *
 *   refuses    nobody listens there
 *   hangs      requests are read, and never answered
 *   drips      an answer of which a byte comes now and then, and never all
 *   fails      503 to everything, at once
 */

import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { freePort } from "../tools/kafka/free-port.ts";

export const SICKNESSES = ["refuses", "hangs", "drips", "fails"] as const;
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

const LISTENERS: Readonly<Record<Exclude<Sickness, "refuses">, RequestListener>> = {
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
};
