/**
 * Opens sockets to endpoints. Both the address and the certificate are checked before anything is sent.
 *
 *   without a proxy                   through a proxy (`tunnel.ts`)
 *   TCP to the endpoint               TCP to the proxy; with TLS, if its URL has https
 *                                     CONNECT
 *   TLS, if the URL has https         TLS inside the tunnel, if the endpoint's URL has https
 *
 * A host name is resolved at most once per connection. Blocked addresses are removed from the result, and the socket
 * connects to one of the remaining addresses. There is no second lookup, which could return other addresses. A proxy
 * resolves the name itself, so only an address in the URL is checked. The operator chooses the proxy, whose own address
 * is not checked.
 */

import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";

import { BoundedStream } from "./bound-response.ts";
import type { Resolve } from "./lookup.ts";
import { isSelfSigned, SelfSignedError } from "./tls.ts";
import { type ForwardProxy, Tunnel } from "./tunnel.ts";

export interface SocketOptions {
  /** `true` if requests may go to this IP address. */
  readonly allowAddress: (ip: string) => boolean;
  readonly resolve: Resolve;
  /** The age from which a connection is not used for another request, and a session not resumed. */
  readonly connectionMaxAgeMs: number;
  /**
   * If a name has several addresses, the time limit for connecting to each address except the last. Must be an integer.
   */
  readonly addressPatienceMs: number;
  /** Called once per TLS connection; throws if the configured files are unusable. */
  readonly secureContext: () => SecureContext;
  /** Null if requests go to endpoints directly. */
  readonly proxy: ForwardProxy | null;
}

export interface SocketTarget {
  readonly protocol: string;
  /** A name or an address; IPv6 is without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/**
 * The last TLS session of an origin, which makes later handshakes shorter. Resuming a session skips the certificate
 * check, so a session is kept only if its certificate has passed the check, and is used only while that certificate is
 * valid and the check is recent.
 */
export interface TlsSession {
  last: {
    readonly bytes: Buffer;
    readonly validUntilMs: number;
    readonly checkedAtMs: number;
  } | null;
}

class AddressBlockedError extends Error {
  override readonly name = "AddressBlockedError";
  readonly code = "ADDRESS_BLOCKED";
}

/**
 * All sockets without TLS read into one buffer, from which the bytes are copied immediately. Node would allocate 64 KiB
 * on the heap for each read, even for a response of 100 bytes. The buffer's size is also the maximum number of bytes
 * that are read from a response after its limit has been reached.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(16_384);

/**
 * Starts to connect. `ready` is called once: with null when the connection is established and the certificate is valid,
 * or with an error if connecting fails. To cancel, destroy the stream with an error.
 */
export function openSocket(
  target: SocketTarget,
  options: SocketOptions,
  session: TlsSession,
  ready: (error: Error | null) => void,
): BoundedStream {
  const { hostname: host, port } = target;
  // Contexts are created first, because they throw if the configured files are unusable.
  const context = target.protocol === "https:" ? options.secureContext() : null;
  const proxyContext = options.proxy?.secureContext?.() ?? null;
  // IP addresses are not resolved, so no lookup checks them.
  const isBlocked = isIP(host) !== 0 && !options.allowAddress(host);
  const proxy = isBlocked ? null : options.proxy;
  const tunnel = proxy === null ? null : new Tunnel(proxy, host, port);
  const tcp = openTcp(target, options, proxy, (bytes) => socket.receive(bytes));
  const socket = new BoundedStream(tcp, tunnel);
  let report: ((error: Error | null) => void) | null = ready;
  const once = (error: Error | null) => {
    // With Node's own error about a certificate for another name, undici would connect to an `http` endpoint again and
    // again if the certificate is the proxy's.
    report?.(error === null ? null : (tunnel?.ended(error) ?? error));
    report = null;
  };
  socket.on("error", once);
  socket.on("close", () => {
    if (report !== null) once(new Error("closed while connecting"));
  });
  const connected = (reaching: Socket) => {
    socket.emit("connect");
    if (context === null) {
      once(null);
      return;
    }
    const tls = startTls(reaching, host, context, options.connectionMaxAgeMs, session);
    socket.secure(tls, () => {
      socket.emit("secureConnect");
      once(null);
    });
  };
  tcp.once("connect", () => {
    if (tunnel === null) connected(tcp);
    else reachThrough(socket, tunnel, proxyContext, connected);
  });
  if (isBlocked) {
    socket.destroy(new AddressBlockedError("requests to the endpoint's address are blocked"));
  }
  return socket;
}

/** @param receive called with what is read, unless TLS uses the socket from the start. */
function openTcp(
  target: SocketTarget,
  options: SocketOptions,
  proxy: ForwardProxy | null,
  receive: (bytes: Buffer) => boolean,
): Socket {
  const callback = (bytes: number) => receive(Buffer.from(READ_BUFFER.subarray(0, bytes)));
  const { hostname: host, port } = proxy ?? target;
  const isPlain = proxy === null ? target.protocol !== "https:" : proxy.secureContext === null;
  return connectTcp({
    host,
    port,
    lookup: checkedLookup(proxy === null ? options : { ...options, allowAddress: () => true }),
    // Node's default of 250 ms would be too short for distant endpoints.
    autoSelectFamilyAttemptTimeout: options.addressPatienceMs,
    noDelay: true,
    keepAlive: true,
    ...(isPlain ? { onread: { buffer: READ_BUFFER, callback } } : {}),
  });
}

/** Call when the proxy has accepted the connection. */
function reachThrough(
  socket: BoundedStream,
  tunnel: Tunnel,
  secureContext: SecureContext | null,
  connected: (reaching: Socket) => void,
): void {
  if (secureContext === null) {
    socket.openTunnel(tunnel, connected);
    return;
  }
  tunnel.startTls();
  const tls = startTls(socket.tcp, tunnel.proxy.hostname, secureContext, 0, { last: null });
  socket.secure(tls, () => socket.openTunnel(tunnel, connected));
}

function startTls(
  tcp: Socket,
  host: string,
  secureContext: SecureContext,
  connectionMaxAgeMs: number,
  stored: TlsSession,
): TLSSocket {
  const { last } = stored;
  const isRecent = last !== null && performance.now() - last.checkedAtMs < connectionMaxAgeMs;
  const offered = isRecent && last.validUntilMs > Date.now() ? last : null;
  const socket = connectTls({
    socket: tcp,
    host,
    // Selects the certificate of a server that hosts several names (RFC 6066, 3).
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : {}),
    secureContext,
    ...(offered === null ? {} : { session: offered.bytes }),
    ALPNProtocols: ["http/1.1"],
    // This is set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
  });
  socket.once("secureConnect", () => {
    const resumed = socket.isSessionReused() ? offered : null;
    const certificate = socket.getPeerX509Certificate();
    const isRejected = certificate === undefined ? resumed === null : isSelfSigned(certificate);
    if (isRejected) {
      socket.destroy(new SelfSignedError("the endpoint's certificate is self-signed"));
      return;
    }
    const validUntilMs = certificate?.validToDate.getTime() ?? resumed?.validUntilMs ?? 0;
    const checkedAtMs = resumed?.checkedAtMs ?? performance.now();
    socket.on("session", (bytes) => {
      stored.last = { bytes, validUntilMs, checkedAtMs };
    });
  });
  return socket;
}

function checkedLookup({ allowAddress, resolve }: SocketOptions): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, (error, found) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const [first, ...rest] = found.filter(({ address }) => allowAddress(address));
      if (first === undefined) {
        callback(new AddressBlockedError("requests to the endpoint's address are blocked"), []);
      } else if (options.all === true) {
        callback(null, [first, ...rest]);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
