/** The way of one program to the broker: it can be cut, or go silent. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface BrokerProxy extends AsyncDisposable {
  /** `host:port` for clients. */
  readonly address: string;
  /** Where to connect to from now on, `host:port`. */
  leadTo(target: string): void;
  /** Resets every connection. New ones work. */
  cut(): void;
  /** Nothing goes through any more, but connections stay open. */
  hold(): void;
  /** What was held goes on. */
  release(): void;
}

export async function startProxy(): Promise<BrokerProxy> {
  const pairs = new Set<readonly [client: Socket, broker: Socket]>();
  let target = "127.0.0.1:1";
  let isHeld = false;
  const server = createServer((client) => {
    const colon = target.lastIndexOf(":");
    const broker = connect(Number(target.slice(colon + 1)), target.slice(0, colon));
    const pair = [client, broker] as const;
    pairs.add(pair);
    for (const [own, other] of [pair, [broker, client] as const]) {
      own.setNoDelay(true);
      own.on("error", () => undefined);
      own.on("data", (bytes: Buffer) => {
        if (!other.write(bytes)) own.pause();
      });
      other.on("drain", () => {
        if (!isHeld) own.resume();
      });
      own.on("close", () => {
        pairs.delete(pair);
        other.destroy();
      });
      if (isHeld) own.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const [client, broker] of pairs) {
      client.resetAndDestroy();
      broker.destroy();
    }
  };
  return {
    address: `127.0.0.1:${port}`,
    leadTo: (next) => {
      target = next;
    },
    cut,
    hold: () => {
      isHeld = true;
      for (const socket of [...pairs].flat()) socket.pause();
    },
    release: () => {
      isHeld = false;
      for (const socket of [...pairs].flat()) socket.resume();
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
