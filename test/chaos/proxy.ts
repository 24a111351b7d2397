/** A proxy between one program and the broker. It can reset connections, go silent, or block writes. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

import { hostAndPort } from "../../src/base/runtime/listening.ts";

export interface BrokerProxy extends AsyncDisposable {
  /** `host:port` for clients. */
  readonly address: string;
  /** Bytes that clients have sent to the broker by now. */
  asked(): number;
  /** Sets the address of the broker, `host:port`, for later connections. */
  leadTo(target: string): void;
  /** Resets every connection. New ones work. */
  cut(): void;
  /**
   * Stops forwarding, but keeps connections open. `writes`: only on connections on which records have been produced, so
   * that offsets can still be committed. `fetches`: only on connections on which records are fetched.
   */
  hold(what: Held): void;
  /** Continues to forward what was held. */
  release(): void;
  /**
   * Stops forwarding on the current connections, or on those on which records are fetched, but keeps them open. New
   * connections work.
   */
  silence(what?: "everything" | "fetches"): void;
}

type Held = "everything" | "writes" | "fetches";

interface Pair {
  readonly client: Socket;
  readonly broker: Socket;
  /** The API keys of the requests that were sent on the connection. */
  readonly apiKeys: Set<number>;
  isSilent: boolean;
}

/** @param host an address to listen on. */
export async function startProxy(host = "127.0.0.1"): Promise<BrokerProxy> {
  const pairs = new Set<Pair>();
  let asked = 0;
  let target = "127.0.0.1:1";
  let held: Held | "nothing" = "nothing";
  const isHeld = ({ apiKeys, isSilent }: Pair) =>
    isSilent ||
    held === "everything" ||
    (held === "writes" && apiKeys.has(PRODUCE)) ||
    (held === "fetches" && apiKeys.has(FETCH));
  const apply = (pair: Pair) => {
    for (const socket of [pair.client, pair.broker]) {
      if (isHeld(pair)) socket.pause();
      else socket.resume();
    }
  };
  const server = createServer((client) => {
    const colon = target.lastIndexOf(":");
    const broker = connect(Number(target.slice(colon + 1)), target.slice(0, colon));
    const pair: Pair = { client, broker, apiKeys: new Set(), isSilent: false };
    pairs.add(pair);
    const requestsIn = requestsOf();
    client.on("data", (bytes: Buffer) => {
      asked += bytes.length;
      const known = pair.apiKeys.size;
      for (const apiKey of requestsIn(bytes)) pair.apiKeys.add(apiKey);
      if (pair.apiKeys.size > known) apply(pair);
    });
    forward(client, broker, () => isHeld(pair));
    forward(broker, client, () => isHeld(pair));
    for (const socket of [client, broker]) socket.once("close", () => pairs.delete(pair));
    apply(pair);
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const { client, broker } of pairs) {
      client.resetAndDestroy();
      broker.destroy();
    }
  };
  return {
    address: hostAndPort(host, port),
    asked: () => asked,
    leadTo: (next) => {
      target = next;
    },
    cut,
    hold: (what) => {
      held = what;
      for (const pair of pairs) apply(pair);
    },
    release: () => {
      held = "nothing";
      for (const pair of pairs) apply(pair);
    },
    silence: (what = "everything") => {
      for (const pair of pairs) {
        pair.isSilent ||= what === "everything" || pair.apiKeys.has(FETCH);
        apply(pair);
      }
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** Combines the proxies of one program to several brokers. Each of them must already have the address of its broker. */
export function joinProxies(proxies: readonly BrokerProxy[]): BrokerProxy {
  const each = (act: (proxy: BrokerProxy) => void) => () => proxies.forEach(act);
  return {
    address: proxies.map(({ address }) => address).join(),
    asked: () => proxies.reduce((sum, proxy) => sum + proxy.asked(), 0),
    leadTo: () => {
      throw new Error("each of the joined proxies leads to a broker of its own");
    },
    cut: each((proxy) => proxy.cut()),
    hold: (what) => each((proxy) => proxy.hold(what))(),
    release: each((proxy) => proxy.release()),
    silence: (what) => each((proxy) => proxy.silence(what))(),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
    },
  };
}

function forward(from: Socket, to: Socket, isHeld: () => boolean): void {
  from.setNoDelay(true);
  from.on("error", () => undefined);
  from.on("data", (bytes: Buffer) => {
    if (!to.write(bytes)) from.pause();
  });
  to.on("drain", () => {
    if (!isHeld()) from.resume();
  });
  from.on("close", () => to.destroy());
}

const PRODUCE = 0;
const FETCH = 1;

/** Finds the API keys of the requests that start in the bytes of a client, which may be split anywhere. */
function requestsOf(): (bytes: Buffer) => readonly number[] {
  let begun = Buffer.alloc(0);
  let ofLast = 0;
  return (bytes) => {
    const apiKeys: number[] = [];
    let rest = bytes.subarray(Math.min(ofLast, bytes.length));
    ofLast = Math.max(0, ofLast - bytes.length);
    rest = Buffer.concat([begun, rest]);
    // A request starts with its size in 4 bytes, followed by its API key in 2 bytes.
    while (rest.length >= 6) {
      apiKeys.push(rest.readInt16BE(4));
      const size = 4 + rest.readInt32BE(0);
      ofLast = Math.max(0, size - rest.length);
      rest = rest.subarray(Math.min(size, rest.length));
    }
    begun = Buffer.from(rest);
    return apiKeys;
  };
}
