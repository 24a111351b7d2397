import { expect, test } from "vitest";

import {
  encodeCoordinatorsQuery,
  encodeOffsetsQuery,
  readCoordinators,
  readGroupsOffsets,
} from "../../../../src/kafka/wire/groups-offsets.ts";

function bytes(...fields: readonly string[]): Buffer {
  return Buffer.from(fields.join("").replaceAll(" ", ""), "hex");
}

test("requests the coordinators of groups by their IDs", () => {
  const query = bytes("00 00", "03 03 6162 02 63", "00");
  expect(encodeCoordinatorsQuery(["ab", "c"])).toEqual(query);
});

test("a group without a coordinator is omitted", () => {
  const payload = bytes(
    "00 00000000 03",
    "02 61 00000007 02 68 00002384 0000 00 00", // a: node 7 at h:9092, no error
    "02 62 ffffffff 01 ffffffff 000f 02 65 00", // b: no coordinator, with a message
    "00",
  );
  expect([...readCoordinators(payload)]).toEqual([["a", { nodeId: 7, host: "h", port: 9_092 }]]);
});

test("requests the committed offsets of groups", () => {
  const topics = [{ topic: "t", partitions: [{ partition: 0 }, { partition: 2 }] }];
  const query = bytes("00", "02 02 61 02 02 74 03 00000000 00000002 00 00", "00 00");
  expect(encodeOffsetsQuery([["a", topics]])).toEqual(query);
});

test("partitions without a commit, and groups with an error, are omitted", () => {
  const partition = (number: string, offset: string, errorCode = "0000") =>
    `000000${number} ${offset} ffffffff 02 6d ${errorCode} 00`;
  const none = "ffffffffffffffff";
  const payload = bytes(
    "00 00000000 04",
    `02 61 02 02 74 04 ${partition("02", "0000000000000009")}`, // a, topic t
    `${partition("01", none)} ${partition("00", "0000000000000005")} 00 0000 00`,
    `02 62 02 02 74 02 ${partition("00", none, "001d")} 00 0000 00`, // b: error of a partition
    "02 63 01 001e 00", // c: error of the group
    "00",
  );
  const offsets = [
    { partition: 0, offset: 5, metadata: "m" },
    { partition: 2, offset: 9, metadata: "m" },
  ];
  expect([...readGroupsOffsets(payload)]).toEqual([["a", new Map([["t", offsets]])]]);
});
