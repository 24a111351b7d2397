// A group's coordinator moves: the member asks who it is now, and asks that one.

import { expect, test } from "vitest";

import { atCoordinator } from "../../../../src/kafka/kafkajs/coordinator.ts";

const NO_WAITS = [0, 0];

class ProtocolError extends Error {
  readonly type: string;

  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

function connectionError(): Error {
  return Object.assign(new Error("Closed connection"), { name: "KafkaJSConnectionClosedError" });
}

/** A group whose first coordinator is `old`, and the brokers say that it is `moved`. */
function movedGroup() {
  const old = { name: "old" };
  const moved = { name: "moved" };
  const asked: string[] = [];
  const group = {
    groupId: "g",
    coordinator: old as object,
    offsetManager: { coordinator: old as object },
    cluster: {
      findGroupCoordinator: async ({ groupId }: { groupId: string }) => {
        asked.push(groupId);
        return moved;
      },
    },
  };
  return { group, old, moved, asked };
}

test.each([
  ["says that it is another one", () => new ProtocolError("NOT_COORDINATOR_FOR_GROUP")],
  ["is not available", () => new ProtocolError("GROUP_COORDINATOR_NOT_AVAILABLE")],
  ["cannot be reached", connectionError],
])("one that %s is looked for, for heartbeats and commits alike", async (_what, failure) => {
  const { group, old, moved, asked } = movedGroup();
  const sentTo: object[] = [];
  await atCoordinator(
    group,
    async () => {
      sentTo.push(group.coordinator);
      if (group.coordinator === old) throw failure();
    },
    NO_WAITS,
  );
  expect(sentTo).toEqual([old, moved]);
  expect(asked).toEqual(["g"]);
  expect(group.offsetManager.coordinator).toBe(moved);
});

test.each(["UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"])(
  "what it says of the member, such as %s, is passed on at once",
  async (type) => {
    const { group, asked } = movedGroup();
    const sending = atCoordinator(group, () => Promise.reject(new ProtocolError(type)), NO_WAITS);
    await expect(sending).rejects.toThrow(type);
    expect(asked).toEqual([]);
  },
);

test("one that stays away is abandoned after so many tries", async () => {
  const { group, asked } = movedGroup();
  let sent = 0;
  const sending = atCoordinator(
    group,
    () => {
      sent += 1;
      return Promise.reject(connectionError());
    },
    NO_WAITS,
  );
  await expect(sending).rejects.toThrow("Closed connection");
  expect(sent).toBe(3);
  expect(asked).toHaveLength(2);
});

test("heartbeat and commit that fail together look once", async () => {
  const { group, old, asked } = movedGroup();
  const send = async () => {
    if (group.coordinator === old) throw connectionError();
  };
  await Promise.all([atCoordinator(group, send, NO_WAITS), atCoordinator(group, send, NO_WAITS)]);
  expect(asked).toEqual(["g"]);
});
