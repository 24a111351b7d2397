import { expect, test } from "vitest";
import { Completion } from "../../../../src/kafka/consume/completion.ts";
import { ProcessedSince } from "../../../../src/kafka/consume/processed-since.ts";

const place = { topic: "t", partition: 0, topicId: "id" };

function openedAt(offset: number) {
  const completion = new Completion({ offset, metadata: null, topicId: "id", recordsMax: 10 });
  const since = new ProcessedSince(place, completion, null);
  const process = (at: number) => {
    completion.take(at, 0, 1);
    completion.finish(at);
  };
  return { completion, since, process };
}

test("what was not read is never reported, also if it is all that was passed over before a commit", () => {
  const { completion, since, process } = openedAt(0);
  since.wasNotRead(0, 5);
  completion.passTo(5);
  expect(since.take(false)).toBeNull();
  process(5);
  expect(since.take(false)?.ranges).toEqual([[5, 6]]);
  since.wasNotRead(6, 8);
  process(8);
  process(9);
  expect(since.take(false)?.ranges).toEqual([[8, 10]]);
  process(10);
  expect(since.take(true)?.ranges).toEqual([[10, 11]]);
});
