/**
 * `switchyard topics --brokers`: shows, for each request, the versions that are sent and the versions that the cluster
 * accepts.
 *
 *   every broker responded, and accepts a version of each request     0
 *   a broker did not respond, or accepts no version of a request      1
 */

import { counted } from "../../../base/words/count.ts";
import { table } from "../../../base/words/table.ts";
import type { Admin, ClusterVersions, RequestVersions, VersionRange } from "../../../kafka/port.ts";
import type { ExitStatus, Shell } from "../../../operator/connect/shell.ts";

const HEAD = ["REQUEST", "SENT", "CAN BE SENT", "ACCEPTED BY ALL", "NOTE"];
const NOTES: Readonly<Record<RequestVersions["state"], string>> = {
  ok: "-",
  near: "near the minimum",
  none: "no common version",
};

export async function showBrokers(admin: Admin, shell: Shell, json: boolean): Promise<ExitStatus> {
  const found = await admin.requestVersions();
  const lost = found.brokers.filter(({ error }) => error !== null);
  const none = found.requests.filter(({ state }) => state === "none");
  const status = lost.length + none.length > 0 ? 1 : 0;
  if (json) shell.out(`${JSON.stringify(found, undefined, 2)}\n`);
  else shell.out(text(found, shell));
  return status;
}

function text({ brokers, requests }: ClusterVersions, shell: Shell): string {
  const { bold, green, red, yellow } = shell.colors;
  const paint = { ok: (cell: string) => cell, near: yellow, none: red };
  const rows = requests.map(({ request, sent, known, accepted, state }) => {
    return [request, sent.join(", ") || "-", range(known), range(accepted), NOTES[state]];
  });
  const lines = brokers.map(({ nodeId, address, error }) =>
    error === null ? `Broker ${nodeId}: ${address}` : red(`Broker ${nodeId}: ${address}: ${error}`),
  );
  const shown = table(HEAD, rows, (cell, row) => {
    const state = requests[row]?.state;
    return state === undefined ? bold(cell) : paint[state](cell);
  });
  const verdicts = [noneText(requests), nearText(requests)].filter((each) => each !== "");
  const good = "All requests use versions that later releases of Kafka are unlikely to drop soon.";
  const verdict = verdicts.length === 0 ? green(good) : verdicts.map(yellow).join("\n");
  return `${lines.join("\n")}\n\n${shown}\n${verdict}\n`;
}

function noneText(requests: readonly RequestVersions[]): string {
  const names = namesOf(requests, "none");
  if (names.length === 0) return "";
  return (
    `No version of ${names.join(", ")} can be sent to every broker. ` +
    "If the brokers accept newer versions only, upgrade Switchyard; otherwise upgrade the brokers."
  );
}

function nearText(requests: readonly RequestVersions[]): string {
  const names = namesOf(requests, "near");
  if (names.length === 0) return "";
  const are = names.length === 1 ? "is" : "are";
  return (
    `${counted(names.length, "request")} ${are} sent in the lowest version that the cluster accepts, ` +
    `or the one above it: ${names.join(", ")}. A later release of Kafka may drop these versions. ` +
    "Before you upgrade the brokers, check that Switchyard is tested with their new version."
  );
}

function namesOf(requests: readonly RequestVersions[], state: RequestVersions["state"]) {
  return requests.filter((each) => each.state === state).map(({ request }) => request);
}

function range(versions: VersionRange | null): string {
  if (versions === null) return "-";
  const { min, max } = versions;
  return min === max ? `${min}` : `${min} to ${max}`;
}
