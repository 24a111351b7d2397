// The table of src/kafka/group/coordinator.ts: a group's coordinator moves, and the member finds it.

import { expect, test, vi } from "vitest";
import { Signal } from "../../../../src/base/runtime/signal.ts";
import { ConnectionClosedError } from "../../../../src/kafka/broker/errors.ts";
import type { Request } from "../../../../src/kafka/broker/request.ts";
import type { SharedConnections } from "../../../../src/kafka/broker/shared-connections.ts";
import { protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { Coordinator } from "../../../../src/kafka/group/coordinator.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";

const MEMBER = { memberId: "m", generationId: 1 };

inEachTest();

function connectionError(): Error {
  return new ConnectionClosedError("Closed connection");
}

/** Creates brokers 1 and 2. `respond` returns a broker's response to a request. */
function world(respond: (node: number) => object | Promise<object>) {
  const state = { coordinator: 1, lookups: 0, versions: { minVersion: 0, maxVersion: 9 } };
  const sentTo: string[] = [];
  const connections = {
    broker: ({ port }: { readonly port: number }) => {
      return {
        open: async () => ({ versions: { 8: state.versions, 12: state.versions } }),
        request: async ({ kind }: Request<unknown>): Promise<object> => {
          sentTo.push(`${kind.apiName} ${port}`);
          const { errorCode, ...response } = {
            errorCode: 0,
            ...(await respond(port)),
          };
          if (kind.apiName !== "OffsetCommit") return { errorCode, ...response };
          return { topics: [{ partitions: [{ errorCode }] }] };
        },
      };
    },
  } as unknown as SharedConnections;
  const brokers = {
    coordinatorOf: async () => {
      state.lookups += 1;
      return { nodeId: state.coordinator, host: "a", port: state.coordinator };
    },
  };
  const stopping = new AbortController();
  const { signal } = stopping;
  const wake = new Signal();
  const coordinator = new Coordinator({ groupId: "g", brokers, connections, signal, wake });
  return { coordinator, state, sentTo, stopping };
}

test.each([
  ["says that it is another one", () => ({ errorCode: 16 })],
  ["is not available", () => ({ errorCode: 15 })],
  [
    "cannot be reached",
    () => {
      throw connectionError();
    },
  ],
])("one that %s is looked for, for heartbeats and commits alike", async (_what, refuse) => {
  const { coordinator, state, sentTo } = world((node) =>
    node === 1 ? refuse() : { errorCode: 0 },
  );
  await coordinator.find();
  state.coordinator = 2;
  await coordinator.heartbeat(MEMBER);
  expect(sentTo).toEqual(["Heartbeat 1", "Heartbeat 2"]);
  await coordinator.commit(MEMBER, []);
  expect(sentTo.at(-1)).toBe("OffsetCommit 2");
  expect(state.lookups).toBe(2);
});

test("one that loads the group is asked again, at last with its error", async () => {
  const { coordinator, sentTo } = world(() => ({ errorCode: 14 }));
  const failed = expect(coordinator.heartbeat(MEMBER)).rejects.toMatchObject({
    type: "COORDINATOR_LOAD_IN_PROGRESS",
  });
  await vi.runAllTimersAsync();
  await failed;
  expect(sentTo).toHaveLength(6);
});

test.each([
  [27, "REBALANCE_IN_PROGRESS"],
  [25, "UNKNOWN_MEMBER_ID"],
  [30, "GROUP_AUTHORIZATION_FAILED"],
])("error %i is the coordinator's word", async (errorCode, type) => {
  const { coordinator, sentTo } = world(() => ({ errorCode }));
  await expect(coordinator.heartbeat(MEMBER)).rejects.toMatchObject({ type, resource: "g" });
  expect(sentTo).toHaveLength(1);
});

test("requests that fail together look for the coordinator once", async () => {
  const { coordinator, state } = world((node) => ({ errorCode: node === 1 ? 16 : 0 }));
  await coordinator.find();
  state.coordinator = 2;
  await Promise.all([coordinator.heartbeat(MEMBER), coordinator.commit(MEMBER, [])]);
  expect(state.lookups).toBe(2);
});

test("a member that is stopped does not wait for a coordinator", async () => {
  const { coordinator, stopping, sentTo } = world(() => {
    throw connectionError();
  });
  stopping.abort();
  await expect(coordinator.heartbeat(MEMBER)).rejects.toThrow("Closed connection");
  expect(sentTo).toHaveLength(1);
});

const JOIN = {
  memberId: "",
  sessionTimeoutMs: 1,
  rebalanceTimeoutMs: 1,
  subscription: Buffer.alloc(0),
  onMemberId: () => undefined,
};

test("a new member joins with the ID that it is given", async () => {
  const responses = [
    { errorCode: 79, memberId: "given", members: [] },
    { errorCode: 0, memberId: "given", generationId: 7, leader: "given", members: [MEMBER] },
  ];
  const { coordinator, sentTo } = world(() => responses.shift() ?? {});
  const given: string[] = [];
  const join = { ...JOIN, onMemberId: (memberId: string) => void given.push(memberId) };
  expect(await coordinator.join(join)).toMatchObject({
    memberId: "given",
    members: [{ memberId: "m", topics: [] }],
  });
  expect(given).toEqual(["given"]);
  expect(sentTo).toEqual(["JoinGroup 1", "JoinGroup 1"]);
});

test("a join that is refused is not repeated", async () => {
  const { coordinator, sentTo } = world(() => ({ errorCode: 23, members: [] }));
  const refused = protocolError(23).message;
  await expect(coordinator.join(JOIN)).rejects.toThrow(refused);
  expect(sentTo).toHaveLength(1);
});

test("commits that cannot be read are an error, not an empty group", async () => {
  const partitions = [{ partitionIndex: 0, committedOffset: -1n, metadata: null, errorCode: 14 }];
  const groups = [{ errorCode: 0, topics: [{ name: "t", partitions }] }];
  const { coordinator } = world(() => ({ groups }));
  const failed = expect(coordinator.offsets([])).rejects.toMatchObject({
    type: "COORDINATOR_LOAD_IN_PROGRESS",
  });
  await vi.runAllTimersAsync();
  await failed;
});

test("a coordinator that is too old or too new is named, with the request", async () => {
  const { coordinator, state } = world(() => ({ errorCode: 0 }));
  state.versions = { minVersion: 0, maxVersion: 2 };
  await expect(coordinator.find()).rejects.toThrow(/The broker a:1 .*request Heartbeat/);
  state.versions = { minVersion: 5, maxVersion: 9 };
  await expect(coordinator.find()).rejects.toThrow(/Upgrade Switchyard/);
});

test("a member that leaves is not held up by an error", async () => {
  const { coordinator } = world(() => {
    throw connectionError();
  });
  await coordinator.find();
  await coordinator.leave("m");
});
