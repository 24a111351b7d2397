import { stripVTControlCharacters } from "node:util";
import { afterEach, expect, test, vi } from "vitest";

import { closing } from "../../../../tools/demo/closing.ts";
import { FLAKY } from "../../../../tools/demo/config.ts";
import { EXPECTED_CALLS, EXPECTED_DEAD_LETTERS } from "../../../../tools/demo/expected.ts";
import { createJournal, type Journal } from "../../../../tools/demo/journal.ts";
import { inTopicText, retryText } from "../../../../tools/demo/story.ts";

afterEach(() => vi.restoreAllMocks());

function printed(journal: Journal): { readonly isFine: boolean; readonly text: string } {
  let text = "";
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    text += chunk;
    return true;
  });
  return { isFine: closing(journal), text: stripVTControlCharacters(text) };
}

function journalOfAll(left: number): Journal {
  const journal = createJournal(EXPECTED_CALLS, EXPECTED_DEAD_LETTERS, {
    [FLAKY.id]: FLAKY.failures,
  });
  const all = EXPECTED_CALLS.flatMap(({ messageId, destinations }) =>
    destinations.map((destination) => ({ messageId, destination })),
  );
  for (const { messageId, destination } of all.slice(left)) {
    if (destination === FLAKY.id) {
      for (let failed = 0; failed < FLAKY.failures; failed += 1) {
        journal.failed(destination);
        journal.retryCount(destination);
      }
    }
    const by = destination === "warehouse" ? "topic" : "webhook";
    journal.arrived({ destination, messageId, by, verified: by === "webhook" });
  }
  for (const reason of EXPECTED_DEAD_LETTERS) journal.deadLetter(reason);
  return journal;
}

test("if every call has arrived, the sentence is said", () => {
  const { isFine, text } = printed(journalOfAll(0));
  expect(isFine).toBe(true);
  expect(text).toContain("All calls were delivered. The one invalid line is in the dead letters.");
});

test("one call that is missing is named, and the sentence is not said", () => {
  const { isFine, text } = printed(journalOfAll(1));
  expect(isFine).toBe(false);
  expect(text).toContain("crm-hook visit-pricing: has not arrived");
  expect(text).not.toContain("All calls were delivered");
});

test("lines count one call and several calls, and an attempt is not one of the calls", () => {
  const retry = { destination: "crm", attempt: 2, seconds: 2 };
  expect([1, 3].map((count) => retryText(retry, count))).toEqual([
    "crm          attempt 2: 503 for 1 call; it waits 2 s in delays.2s",
    "crm          attempt 2: 503 for 3 calls; they wait 2 s in delays.2s",
  ]);
  expect([1, 3].map((count) => inTopicText("warehouse", count))).toEqual([
    "warehouse    1 call in its topic, for other consumers",
    "warehouse    3 calls in its topic, for other consumers",
  ]);
});
