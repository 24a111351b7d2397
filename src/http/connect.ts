/**
 * Sockets to endpoints: the address is checked before anything is sent to it, and so is the
 * certificate.
 *
 * A host name is looked up at most once per connection, refused addresses are taken out of the
 * answer, and the socket connects to what is left: there is no second look-up that could say
 * something else.
 */

import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";

import type { Resolve } from "./lookup.ts";
import { isSelfSigned, SelfSignedError } from "./tls.ts";

export interface SocketOptions {
  /** Whether requests may go to an IP address. */
  readonly allowAddress: (ip: string) => boolean;
  readonly resolve: Resolve;
  /** Of a name with several addresses, how long each but the last is given to connect: whole. */
  readonly addressPatienceMs: number;
  /** Called per TLS connection; throws when the configured files are unusable. */
  readonly secureContext: () => SecureContext;
}

export interface SocketTarget {
  readonly protocol: string;
  /** A name or an address, IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/**
 * The last TLS session of an origin, so that later connections shake hands quickly. Nobody looks
 * at a certificate when a session is resumed, so it is kept only after the certificate was found
 * good, and used only as long as that one is valid.
 */
export interface TlsSession {
  last: { readonly bytes: Buffer; readonly validUntilMs: number } | null;
}

class AddressBlockedError extends Error {
  override readonly name = "AddressBlockedError";
  readonly code = "ADDRESS_BLOCKED";
}

/**
 * All sockets read into one buffer, from which the bytes are copied out at once. Node would take 64
 * KiB from the heap for each read, which is a lot for a response of 100 bytes. No more than this is
 * read of an answer after its limit has passed.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(16_384);

/** @returns false when the socket's reader has enough for now. */
function passOn(socket: Socket, bytes: number): boolean {
  return socket.push(Buffer.from(READ_BUFFER.subarray(0, bytes)));
}

/**
 * Starts to connect. `ready` is called once: with null when the connection stands and the
 * certificate is good, else with the error. To give up, destroy the socket with an error.
 */
export function openSocket(
  target: SocketTarget,
  options: SocketOptions,
  session: TlsSession,
  ready: (error: Error | null) => void,
): Socket {
  const { hostname: host, port } = target;
  const isSecure = target.protocol === "https:";
  const common = {
    host,
    port,
    lookup: checkedLookup(options),
    // Node's own 250 ms would give up every endpoint that is further away than that.
    autoSelectFamilyAttemptTimeout: options.addressPatienceMs,
    noDelay: true,
    keepAlive: true,
    onread: { buffer: READ_BUFFER, callback: (bytes: number) => passOn(socket, bytes) },
  };
  const socket: Socket = isSecure ? connectSecure(common, options, session) : connectTcp(common);
  let report: ((error: Error | null) => void) | null = ready;
  const once = (error: Error | null) => {
    report?.(error);
    report = null;
  };
  socket.on("error", once);
  socket.on("close", () => once(new Error("closed while connecting")));
  socket.once(isSecure ? "secureConnect" : "connect", () => {
    // One whose certificate was refused just now has its error to report.
    if (!socket.destroyed) once(null);
  });
  // Literal addresses are never looked up.
  if (isIP(host) !== 0 && !options.allowAddress(host)) {
    socket.destroy(new AddressBlockedError("the endpoint's address may not be requested"));
  }
  return socket;
}

function connectSecure(
  common: { host: string; port: number; lookup: LookupFunction },
  { secureContext }: SocketOptions,
  stored: TlsSession,
): TLSSocket {
  const offered =
    stored.last !== null && stored.last.validUntilMs > Date.now() ? stored.last : null;
  const socket = connectTls({
    ...common,
    // A server that is many hosts is told by this which certificate to show (RFC 6066, 3).
    ...(isIP(common.host) === 0 ? { servername: common.host.replace(/\.$/, "") } : {}),
    secureContext: secureContext(),
    ...(offered === null ? {} : { session: offered.bytes }),
    ALPNProtocols: ["http/1.1"],
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
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
    socket.on("session", (bytes) => {
      stored.last = { bytes, validUntilMs };
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
        callback(new AddressBlockedError("the endpoint's address may not be requested"), []);
      } else if (options.all === true) {
        callback(null, [first, ...rest]);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
