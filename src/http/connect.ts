/**
 * Sockets to endpoints: the address is checked before anything is sent to it, and so is the
 * certificate.
 *
 * A host name is looked up once per connection, refused addresses are taken out of the answer, and
 * the socket connects to what is left: there is no second look-up that could say something else.
 */

import { type LookupAddress, lookup } from "node:dns";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, getCACertificates, type TLSSocket } from "node:tls";

export interface SocketOptions {
  /** Whether requests may go to an IP address. */
  readonly allowAddress: (ip: string) => boolean;
  /** PEM texts; a CA is added to the public roots. Null: none. */
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

export interface SocketTarget {
  readonly protocol: string;
  /** A name or an address, IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
}

export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
  readonly code = "ADDRESS_REFUSED";
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
  const common = { host, port, lookup: checkedLookup(options), noDelay: true, keepAlive: true };
  const socket: Socket = isSecure ? secure(common, options, session) : connectTcp(common);
  let report: ((error: Error | null) => void) | null = ready;
  const once = (error: Error | null) => {
    report?.(error);
    report = null;
  };
  socket.on("error", once);
  socket.on("close", () => once(new Error("closed while connecting")));
  socket.once(isSecure ? "secureConnect" : "connect", () => {
    const error = isSecure ? refuseSelfSigned(socket as TLSSocket) : null;
    if (error === null) once(null);
    else socket.destroy(error);
  });
  // Literal addresses are never looked up.
  if (isIP(host) !== 0 && !options.allowAddress(host)) {
    socket.destroy(new AddressRefusedError("the endpoint's address may not be requested"));
  }
  return socket;
}

/** The last TLS session of an origin, so that later connections shake hands quickly. */
export interface TlsSession {
  session: Buffer | undefined;
}

function secure(
  common: { host: string; port: number; lookup: LookupFunction },
  { ca, cert, key }: SocketOptions,
  stored: TlsSession,
): TLSSocket {
  const socket = connectTls({
    ...common,
    ...(ca === null ? {} : { ca: [...getCACertificates("default"), ca] }),
    ...(cert === null || key === null ? {} : { cert, key }),
    ...(stored.session === undefined ? {} : { session: stored.session }),
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
  });
  socket.on("session", (session) => {
    stored.session = session;
  });
  return socket;
}

/** A self-signed certificate is refused even where the configuration lists it as a CA. */
function refuseSelfSigned(socket: TLSSocket): Error | null {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined || !certificate.checkIssued(certificate)) return null;
  const error = new Error("the endpoint's certificate is self-signed");
  return Object.assign(error, { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
}

function checkedLookup({ allowAddress }: SocketOptions): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const [first, ...rest] = found.filter(({ address }) => allowAddress(address));
      if (first === undefined) {
        callback(new AddressRefusedError("the endpoint's address may not be requested"), []);
      } else if (options.all === true) {
        callback(null, [first, ...rest]);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
