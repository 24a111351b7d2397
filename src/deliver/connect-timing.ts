/** When the socket of a request got through the steps of being opened. */

import { isIP } from "node:net";

import type { Opening } from "../http/kept-connection.ts";
import type { Phases } from "./attempt.ts";

/** @param nowMs since the request began. */
export function noteOpening(
  [socket, { protocol, hostname }]: Opening,
  phases: Phases,
  nowMs: () => number,
): void {
  phases.openedMs = nowMs();
  phases.isName = isIP(hostname) === 0;
  phases.isSecure = protocol === "https:";
  // One event for each address.
  socket.once("lookup", () => {
    phases.lookedUpMs = nowMs();
  });
  socket.once("connect", () => {
    phases.connectedMs = nowMs();
  });
  socket.once("secureConnect", () => {
    phases.securedMs = nowMs();
  });
}
