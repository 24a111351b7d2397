/** When the socket of a request got through the steps of being opened. */

import { isIP, type Socket } from "node:net";

import type { SocketTarget } from "../http/connect.ts";
import type { Phases } from "./attempt.ts";

/** @param nowMs since the request began. */
export function noteOpening(phases: Phases, nowMs: () => number) {
  return (socket: Socket, { protocol, hostname }: SocketTarget): void => {
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
  };
}
