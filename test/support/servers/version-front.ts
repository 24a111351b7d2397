/**
 * A proxy to a private broker that makes the broker appear to be another release of Kafka. It rewrites the list of
 * versions and, like brokers, closes the connection after a request in a version that is not on the list.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const API_VERSIONS = 18;

export interface VersionFront extends Disposable {
  /** `host:port`, which the broker must advertise as one of its addresses. */
  readonly address: string;
  /** Address of the broker, `host:port`. Must be set before the first connection. */
  behind: string;
  /** Versions by API key; null if the request is not on the list. Open connections keep the list that they received. */
  accepts: Readonly<Record<number, readonly [min: number, max: number] | null>>;
  /** The forwarded requests: API keys with their versions. */
  readonly passed: Map<number, Set<number>>;
  /** Requests that closed a connection, such as `2 v2`. */
  readonly refused: string[];
  /** Ends all connections, as if the broker had been replaced. */
  cut(): void;
}

export async function versionFront(): Promise<VersionFront> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const [host, port] = front.behind.split(":");
    const broker = connect(Number(port), host);
    for (const socket of [client, broker]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
    const { accepts } = front;
    const lists = new Set<number>();
    client.on(
      "data",
      eachFrame((frame) => {
        const [apiKey, version] = [frame.readInt16BE(4), frame.readInt16BE(6)];
        const range = accepts[apiKey];
        if (range === null || (range && (version < range[0] || version > range[1]))) {
          front.refused.push(`${apiKey} v${version}`);
          client.destroy();
          return;
        }
        front.passed.set(apiKey, (front.passed.get(apiKey) ?? new Set()).add(version));
        if (apiKey === API_VERSIONS) lists.add(frame.readInt32BE(8));
        broker.write(frame);
      }),
    );
    broker.on(
      "data",
      eachFrame((frame) => {
        const isList = lists.delete(frame.readInt32BE(4));
        client.write(isList ? rewritten(frame, accepts) : frame);
      }),
    );
    broker.on("close", () => client.destroy());
    client.on("close", () => broker.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const front: VersionFront = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    behind: "",
    accepts: {},
    passed: new Map(),
    refused: [],
    cut,
    [Symbol.dispose]: () => {
      cut();
      server.close();
    },
  };
  return front;
}

function eachFrame(take: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0);
      const frame = Buffer.from(rest.subarray(0, end));
      rest = rest.subarray(end);
      take(frame);
    }
  };
}

/** The response in versions 0 to 2, which are requested: an error, then a list with three numbers each. */
function rewritten(frame: Buffer, accepts: VersionFront["accepts"]): Buffer {
  const count = frame.readInt32BE(10);
  const listed = Array.from({ length: count }, (_, at) => frame.subarray(14 + at * 6, 20 + at * 6));
  const kept = listed.flatMap((entry) => {
    const range = accepts[entry.readInt16BE(0)];
    if (range === null) return [];
    if (range === undefined) return [entry];
    const changed = Buffer.from(entry);
    changed.writeInt16BE(range[0], 2);
    changed.writeInt16BE(range[1], 4);
    return [changed];
  });
  const tail = frame.subarray(14 + count * 6);
  const whole = Buffer.concat([frame.subarray(0, 14), ...kept, tail]);
  whole.writeInt32BE(whole.length - 4, 0);
  whole.writeInt32BE(kept.length, 10);
  return whole;
}
