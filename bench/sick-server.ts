/**
 * An endpoint that is healthy at first, and then fails in one of these ways:
 *
 *   refuses    nothing listens at the address
 *   hangs      requests are read, but get no response
 *   drips      a response of which a byte is sent now and then, and which never ends
 *   fails      responds 503 to everything, immediately
 *   floods     sends endless headers, from a separate process. It is busy with them, so it has the
 *              lowest priority: a real endpoint has a separate machine
 *   topic      the endpoint stays healthy, but the topic of its destination is deleted
 *   leader     the same, but the partitions of the topic lose their leader (`isolation-cluster.ts`)
 */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { type HostileServer, startHostileServer } from "../test/attacks/start-hostile-server.ts";

export const SICKNESSES = ["refuses", "hangs", "drips", "fails", "floods", "topic"] as const;
type Sickness = (typeof SICKNESSES)[number];
export type Health = Sickness | "leader" | "healthy";

const DRIP_MS = 200;
const DRIP_BYTES = 1_000;

export interface SickServer extends Disposable {
  readonly url: string;
  /** From now on, the endpoint fails in the given way. */
  fall(): Promise<void>;
}

/** Starts a healthy endpoint, which fails in this way after `fall`. The caller disposes it. */
export async function startSickServer(health: Health): Promise<SickServer> {
  let listener = respondsOk;
  const server = createServer((request, response) => listener(request, response));
  // This is long enough for the connection to last through each phase of a run.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // The process is started before it is needed, so that its start does not delay anything.
  const hostile = health === "floods" ? await startHostileServer() : null;
  hostile?.yieldProcessor();
  const disconnect = () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    // Only the flooding endpoint uses the path.
    url: `http://127.0.0.1:${port}/tiny-headers`,
    fall: async () => {
      if (health === "refuses" || health === "floods") {
        disconnect();
        await hostile?.listenAt(port);
      } else {
        listener = LISTENERS[health];
      }
    },
    [Symbol.dispose]: () => {
      disconnect();
      void end(hostile);
    },
  };
}

async function end(hostile: HostileServer | null): Promise<void> {
  await hostile?.[Symbol.asyncDispose]();
}

const respondsOk: RequestListener = (request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-length": 0 }).end());
};

const LISTENERS: Readonly<Record<Exclude<Health, "refuses" | "floods">, RequestListener>> = {
  healthy: respondsOk,
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
  topic: respondsOk,
  leader: respondsOk,
};
