// Connections to a broker that responds wrongly, late or not at all, with real sockets.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";

import type { BrokerConnection } from "../../src/kafka/broker/broker-connection.ts";
import { findCoordinator, GROUP_KEY, metadata } from "../../src/kafka/broker/requests.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import type { KafkaSasl } from "../../src/kafka/port.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { connectionTo } from "../support/worlds/fronted-kafka.ts";

const API_VERSIONS = 18;
const METADATA = 3;
const FIND_COORDINATOR = 10;
const SASL_HANDSHAKE = 17;
const SASL_AUTHENTICATE = 36;

interface Received {
  readonly apiKey: number;
  readonly correlationId: number;
  readonly socket: Socket;
  /** Sends a whole response. */
  readonly respond: (payload: Buffer) => void;
}

/** The keys of requests with their only version. */
const VERSIONS = [
  [API_VERSIONS, 2],
  [METADATA, 6],
  [FIND_COORDINATOR, 1],
  [SASL_HANDSHAKE, 1],
  [SASL_AUTHENTICATE, 2],
] as const;

function versionsListed(): Buffer {
  const entries = VERSIONS.map(([apiKey, version]) => {
    return Buffer.from([0, apiKey, 0, version, 0, version]);
  });
  return Buffer.concat([Buffer.from([0, 0, 0, 0, 0, entries.length]), ...entries, int32(0)]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** No brokers, no cluster ID, no topics. */
const noMetadata = (throttleMs: number) =>
  Buffer.concat([int32(throttleMs), int32(0), Buffer.from([255, 255]), int32(-1), int32(0)]);
const coordinator = Buffer.concat([
  int32(0),
  Buffer.from([0, 0, 255, 255, 0, 0, 0, 7, 0, 1, 97]),
  int32(9092),
]);

/** A broker that lists its versions; `receive` gets all other requests. */
async function brokerThat(
  receive: (request: Received) => void,
  sasl: KafkaSasl | null = null,
): Promise<BrokerConnection> {
  const server = createServer((socket) => {
    let bytes = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("data", (more) => {
      bytes = Buffer.concat([bytes, more]);
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE()) {
        const [apiKey, correlationId] = [bytes.readInt16BE(4), bytes.readInt32BE(8)];
        bytes = bytes.subarray(4 + bytes.readInt32BE());
        const respond = (payload: Buffer): void => {
          const head = Buffer.concat([int32(payload.length + 4), int32(correlationId)]);
          socket.write(Buffer.concat([head, payload]));
        };
        if (apiKey === API_VERSIONS) respond(versionsListed());
        else receive({ apiKey, correlationId, socket, respond });
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = { ...connectionTo(`127.0.0.1:${port}`), sasl };
  const client = new Clients(connection, new LogLines().log).create();
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return client.createBroker({ host: "127.0.0.1", port });
}

test.each([
  ["negative", -5],
  ["too short for its number", 3],
  ["two gigabytes", 2_147_483_647],
])(
  "a response with a length that is %s ends the connection, and its bytes are not kept",
  async (_, length) => {
    const broker = await brokerThat(({ socket }) => {
      socket.write(Buffer.concat([int32(length), Buffer.alloc(100_000)]));
    });
    await expect(broker.send(metadata(null, false))).rejects.toMatchObject({
      name: "ConnectionClosedError",
      message: expect.stringContaining(`a length of ${length} bytes`),
    });
    expect(broker.isOpen).toBe(false);
  },
);

test("a response that cannot be read is an error of its request; the others go on", async () => {
  const broker = await brokerThat(({ apiKey, respond }) => {
    respond(apiKey === METADATA ? int32(0) : coordinator);
  });
  const unreadable = broker.send(metadata(null, false));
  const other = broker.send(findCoordinator(GROUP_KEY, ["g"]));
  await expect(unreadable).rejects.toThrow();
  expect((await other).coordinators).toMatchObject([{ nodeId: 7, host: "a", port: 9092 }]);
  expect(broker.isOpen).toBe(true);
});

test("a response to another request ends the connection", async () => {
  const broker = await brokerThat(({ socket, correlationId }) => {
    socket.write(Buffer.concat([int32(8), int32(correlationId + 9), int32(0)]));
  });
  await expect(broker.send(metadata(null, false))).rejects.toMatchObject({
    name: "ConnectionClosedError",
  });
});

test("a request that is cut off counts as an outage", async () => {
  const broker = await brokerThat(({ socket }) => void socket.resetAndDestroy());
  await expect(broker.send(metadata(null, false))).rejects.toMatchObject({
    name: "ConnectionClosedError",
    message: "Closed connection: read ECONNRESET",
    retriable: true,
  });
});

test.each([["resets"], ["ends"]])(
  "a connection that the broker %s while it authenticates counts as one that was not opened",
  async (how) => {
    const sasl = { mechanism: "plain", username: "u", password: "p" } as const;
    const broker = await brokerThat(({ socket }) => {
      if (how === "resets") socket.resetAndDestroy();
      else socket.end();
    }, sasl);
    await expect(broker.send(metadata(null, false))).rejects.toMatchObject({
      name: "ConnectionError",
      retriable: true,
    });
    expect(broker.isOpen).toBe(false);
  },
);

/** No tags in the header, no error, no message, no bytes, the lifetime, no tags. */
function authenticated(sessionMs: number): Buffer {
  const lifetime = Buffer.alloc(8);
  lifetime.writeBigInt64BE(BigInt(sessionMs));
  return Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), lifetime, Buffer.from([0])]);
}

test.each([
  ["none", 0, 1],
  ["negative", -1_000, 1],
  ["shorter than a request", 1, 2],
])(
  "a session whose lifetime is %s is renewed only if it has ended",
  async (_, sessionMs, times) => {
    const sasl = { mechanism: "plain", username: "u", password: "p" } as const;
    let authentications = 0;
    const broker = await brokerThat(({ apiKey, respond }) => {
      if (apiKey === METADATA) return respond(noMetadata(0));
      // No error, and no list of mechanisms.
      if (apiKey === SASL_HANDSHAKE) return respond(Buffer.alloc(6));
      authentications += 1;
      respond(authenticated(authentications === 1 ? sessionMs : 0));
    }, sasl);
    await broker.open();
    // Time passes, so that a session of 1 ms is over.
    const openedMs = performance.now();
    await expect.poll(() => performance.now() - openedMs).toBeGreaterThan(2);
    expect((await broker.send(metadata(null, false))).topics).toEqual([]);
    expect(authentications).toBe(times);
  },
);

test("a request without a response in its time ends the connection, and the next one opens another", async () => {
  let isSilent = true;
  const broker = await brokerThat(({ respond }) => {
    if (!isSilent) respond(noMetadata(0));
  });
  const late = { ...metadata(null, false), limitMs: 10 };
  const behind = broker.send(late);
  await expect(behind).rejects.toMatchObject({
    name: "RequestTimeoutError",
    message: expect.stringContaining("Metadata"),
  });
  isSilent = false;
  expect((await broker.send(metadata(null, false))).topics).toEqual([]);
});

test("after a throttle time, the next request waits in this process", async () => {
  const received: number[] = [];
  const broker = await brokerThat(({ respond }) => {
    received.push(performance.now());
    respond(noMetadata(received.length === 1 ? 400 : 0));
  });
  await broker.send(metadata(null, false));
  expect([broker.wouldWait, broker.throttledForMs > 0]).toEqual([true, true]);
  const waiting = broker.send(metadata(null, false));
  await expect.poll(() => broker.hasPending).toBe(true);
  await waiting;
  const [first = 0, second = 0] = received;
  expect(second - first).toBeGreaterThan(350);
});

test("a connection that is closed while it is being opened is given up at once", async () => {
  const broker = await brokerThat(({ respond }) => respond(noMetadata(0)));
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const opening = expect(broker.open()).rejects.toMatchObject({ name: "ConnectionClosedError" });
  broker.close();
  await opening;
  // A timer would keep a process running that has nothing more to do.
  // The socket reports its end a few turns of the event loop later.
  for (let left = 100; left > 0 && timers() > before; left -= 1)
    await new Promise((resolve) => setImmediate(resolve));
  expect(timers()).toBe(before);
  await broker.open();
  expect(broker.isOpen).toBe(true);
});

test("a broker that is left still responds to what was sent, and is not connected to again", async () => {
  const held = Promise.withResolvers<void>();
  const broker = await brokerThat(({ respond }) => {
    void held.promise.then(() => respond(noMetadata(0)));
  });
  await broker.open();
  const sent = broker.send(metadata(null, false));
  broker.leave();
  held.resolve();
  expect((await sent).topics).toEqual([]);
  expect(broker.isOpen).toBe(false);
  await expect(broker.send(metadata(null, false))).rejects.toMatchObject({
    name: "ConnectionClosedError",
  });
});
