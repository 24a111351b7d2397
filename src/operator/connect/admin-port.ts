/** Requests to a process's admin port. */

import { type LookupAddress, promises } from "node:dns";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import { hostAndPort } from "../../base/runtime/listening.ts";
import { withoutBrackets } from "../../domain/addresses.ts";
import type { MeasuredStatus } from "../../domain/process-status.ts";
import { readStatus } from "./read-status.ts";

const ANSWER_LIMIT_MS = 3_000;

export interface ProcessReading {
  /** The time on a monotonic clock. */
  readonly atMs: number;
  readonly status: MeasuredStatus;
}

/** @throws Error that `reasonOf` can describe. `ask` also throws such errors. */
export async function readProcess(address: string, signal: AbortSignal): Promise<ProcessReading> {
  const { status, body } = await ask(address, "/status?metrics", signal);
  if (status !== 200) throw new Error(`it responded ${status}`);
  const found = readStatus(body);
  if (found === null) throw new Error("its response is not a status");
  return { atMs: performance.now(), status: found };
}

export async function ask(
  address: string,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  using limit = hearingLimit(ANSWER_LIMIT_MS, signal);
  // `fetch` blocks some ports, but an admin port can be any port.
  const colon = address.lastIndexOf(":");
  // A URL cannot contain the zone of an IPv6 address.
  const host = withoutBrackets(address.slice(0, colon));
  const port = address.slice(colon + 1);
  const request = get({ host, port, path, signal: limit.signal, agent: false });
  const [response] = (await once(request, "response", { signal: limit.signal })) as [
    IncomingMessage,
  ];
  return { status: response.statusCode, body: await text(response) };
}

export function reasonOf(error: Error): string {
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown };
  const isLate = [error, cause].some((e) => e instanceof Error && e.name === "TimeoutError");
  if (isLate) return `no response within ${ANSWER_LIMIT_MS / 1_000} s`;
  return typeof code === "string" ? code : error.message;
}

/**
 * Resolves the addresses of admin ports.
 *
 *   the host                                                  requests go to
 *   is an IP address, has only one, or cannot be resolved     the host, as it is written
 *   has several IP addresses, such as a headless Service      each of them
 *   ... and one of them is this machine's, and the list       the others, so that this process is not
 *       also contains `127.0.0.1` with the same port          requested twice
 *
 * Only addresses of the same kind as the first one are used, because a name such as `localhost` can have both an IPv4
 * and an IPv6 address of the same machine.
 */
const OWN = "127.0.0.1";
const ADDRESS = /^(.*):(\d+)$/;

type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

const systemLookup: Lookup = (name) => promises.lookup(name, { all: true });

/** Never rejects. @param lookUp resolves a name. Tests replace this function, and the addresses of this machine. */
export async function everyAddress(
  addresses: readonly string[],
  lookup: Lookup = systemLookup,
  mine: readonly string[] = ownAddresses(),
): Promise<readonly string[]> {
  const asked = await Promise.all(
    addresses.map(async (address) => {
      const [, host = "", port = ""] = ADDRESS.exec(address) ?? [];
      if (host === "" || host.startsWith("[") || isIP(host) !== 0) return [address];
      const all = await lookup(host).catch((): readonly LookupAddress[] => []);
      const found = all.filter(({ family }) => family === all[0]?.family);
      if (found.length < 2) return [address];
      const isAsked = addresses.includes(hostAndPort(OWN, Number(port)));
      return found
        .filter((each) => !(isAsked && mine.includes(each.address)))
        .map((each) => hostAndPort(each.address, Number(port)));
    }),
  );
  return [...new Set(asked.flat())];
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap(
    (all) => all?.map(({ address }) => address) ?? [],
  );
}
