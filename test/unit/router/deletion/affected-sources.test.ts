// The destinations that are not notified of a deletion, with the reasons. The table itself is tested with
// `deletion.ts`.

import { expect, test } from "vitest";
import type { Source } from "../../../../src/domain/destination.ts";
import type { DestinationId, SourceId } from "../../../../src/domain/ids.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import {
  affected,
  listenersBySource,
  notNotified,
} from "../../../../src/router/deletion/affected-sources.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const id = (text: string) => text as DestinationId;
const source = (name: string, ...destinations: readonly string[]): Source => {
  const none = { writeKeys: [], callsPerSecond: null, correctClock: true };
  return { id: name as SourceId, destinations: destinations.map(id), ...none };
};
const files = {
  kind: "topic",
  isAttempted: false,
  getsDeletions: false,
  id: id("files"),
  name: "F",
  enabled: true,
  historical: true,
  partitions: null,
} as const;
const DESTINATIONS = [
  webhookDestination({ id: id("hook") }),
  webhookDestination({ id: id("off"), enabled: false }),
  webhookDestination({ id: id("ios-only") }),
  files,
];

test("every destination that is not notified is named, with the reason", () => {
  const sources = [source("web", "hook", "off", "files"), source("ios", "ios-only")];
  const listeners = listenersBySource(sources, DESTINATIONS, topicNames(""));
  const notReportedBy = (ids: readonly string[] | null) => {
    const found = affected(ids, listeners);
    if (found.kind === "refused") throw new Error(found.error);
    return notNotified(found.sources, DESTINATIONS, "u");
  };
  expect(notReportedBy(null)).toEqual([
    { destination: "off", reason: "disabled" },
    { destination: "files", reason: "type topic" },
  ]);
  expect(notReportedBy(["web"])).toEqual([
    { destination: "off", reason: "disabled" },
    { destination: "ios-only", reason: "no affected source is connected to it" },
    { destination: "files", reason: "type topic" },
  ]);
});
