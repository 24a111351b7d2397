/**
 * An endpoint that is a good one at first, and then no good, in one of these ways:
 *
 *   refuses    nobody listens there
 *   hangs      requests are read, and never answered
 *   drips      an answer of which a byte comes now and then, and never all
 *   fails      503 to everything, at once
 *   floods     headers without end, of a process of its own. It is busy with them, so it has the
 *              lowest priority: an endpoint has a machine of its own
 *   topic      it stays a good one, but its destination's topic is deleted
 *   leader     the same, and the partitions of the topic lose their leader (`isolation-cluster.ts`)
 */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { type HostileServer, startHostileServer } from "../test/attacks/start-hostile-server.ts";

export const SICKNESSES = ["refuses", "hangs", "drips", "fails", "floods", "topic"] as const;
export type Sickness = (typeof SICKNESSES)[number];
export type Health = Sickness | "leader" | "healthy";

const DRIP_MS = 200;
const DRIP_BYTES = 1_000;

export interface SickServer extends Disposable {
  readonly url: string;
  /** From now on it is as it was asked to be. */
  fall(): Promise<void>;
}

/** Starts a good endpoint that `fall` makes this one. The caller disposes of it. */
export async function startSickServer(health: Health): Promise<SickServer> {
  let listener = answersOk;
  const server = createServer((request, response) => listener(request, response));
  // Long enough for the one connection to outlive each phase of a run.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // It is started before it is needed: that it starts should be nobody's delay.
  const hostile = health === "floods" ? await startHostileServer() : null;
  hostile?.yieldProcessor();
  const disconnect = () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    // Only the flooding one looks at the path.
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

const answersOk: RequestListener = (request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-length": 0 }).end());
};

const LISTENERS: Readonly<Record<Exclude<Health, "refuses" | "floods">, RequestListener>> = {
  healthy: answersOk,
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
  topic: answersOk,
  leader: answersOk,
};
