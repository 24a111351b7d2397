import { expect, test } from "vitest";

import { decodeTopicIds, encodeTopicIdRequest } from "../../../../src/kafka/wire/topic-id.ts";

const ID = "0123456789abcdef0123456789abcdef";
const UUID = "01234567-89ab-cdef-0123-456789abcdef";

/** Returns a Metadata response of version 10 with one broker, written field by field. */
function response(errorCode: string, id: string): Buffer {
  const topic = [
    `${errorCode} 05 ${Buffer.from("call").toString("hex")} ${id} 00`, // error, name, id, not internal
    "02 0000 00000000 00000001 00000007", // one partition: error, number, leader, epoch
    "02 00000001 02 00000001 01", // replicas, in sync, offline
    "01 00 02 abcd", // the partition has a tagged field of two bytes
    "80000000 00", // authorized operations
  ];
  const fields = [
    "00 00000000", // tagged fields of the response header, throttle time
    "02 00000001 02 62 00002384 00 00", // broker 1 at "b", no rack
    "00 00000001", // no cluster id, controller
    ...["02", ...topic, "80000000 00"],
  ];
  return Buffer.from(fields.join("").replaceAll(" ", ""), "hex");
}

test("asks for topics by name and creates none", () => {
  const noId = "00".repeat(16);
  expect(encodeTopicIdRequest(["ab", "c"]).toString("hex")).toBe(
    `00${"03"}${noId}${"03"}6162${"00"}${noId}${"02"}63${"00"}${"000000"}${"00"}`,
  );
});

test("reads the id of a topic that exists", () => {
  expect([...decodeTopicIds(response("0000", ID))]).toEqual([["call", UUID]]);
});

test("a topic that does not exist, or has no id, is omitted", () => {
  expect(decodeTopicIds(response("0003", ID)).size).toBe(0);
  expect(decodeTopicIds(response("0000", "00".repeat(16))).size).toBe(0);
});

test("a response that is cut off is an error", () => {
  const whole = response("0000", ID);
  expect(() => decodeTopicIds(whole.subarray(0, whole.length - 20))).toThrow(RangeError);
});
