// The tables in the header of permission.ts.

import { expect, test } from "vitest";

import { errorKind, protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { principalOf, withPermission } from "../../../../src/kafka/cluster/permission.ts";
import { MissingPermissionError } from "../../../../src/kafka/port.ts";
import { pem } from "../../../../tools/kafka/security.ts";

const TOPIC_CODE = 29;
const GROUP_CODE = 30;
const CLUSTER_CODE = 31;
const TRANSACTION_CODE = 53;
const sasl = { mechanism: "plain", username: "svc", password: "p" } as const;
const identity = { brokers: ["a:1", "b:2"], tls: null, sasl };
const grant = (on: "topic" | "group" | "cluster", ...names: readonly string[]) =>
  ({ on, names, pattern: "literal", operations: ["Read"] }) as const;
const needed = [grant("topic", "t", "u"), grant("group", "g"), grant("cluster")];
const textOf = (error: Error) => withPermission(error, needed, identity).message;

test.each([
  [
    TOPIC_CODE,
    "the permission Read on the topics t, u is missing for User:svc (TOPIC_AUTH",
    "--topic t --topic u",
  ],
  [
    GROUP_CODE,
    "the permission Read on the group g is missing for User:svc (GROUP_AUTH",
    "--group g",
  ],
  [
    CLUSTER_CODE,
    "the permission Read on the cluster is missing for User:svc (CLUSTER_AUTH",
    "--cluster",
  ],
])("code %i names what was needed, and how to grant it", (code, sentence, resource) => {
  const text = textOf(new Error("outer", { cause: protocolError(code) }));
  expect(text).toContain(sentence);
  const command = "kafka-acls.sh --bootstrap-server a:1,b:2 --add --allow-principal User:svc";
  expect(text).toContain(`Grant it: ${command} --operation Read ${resource} (`);
  expect(text).not.toContain("topics --apply");
});

test("the topics that the brokers reported are named, and no others", () => {
  const errors = ["x", "y", "x"].map((topic) => protocolError(TOPIC_CODE, topic));
  expect(textOf(Object.assign(new Error("many"), { errors }))).toContain("on the topics x, y is");
});

test("many topics are cut short, and `switchyard acls` has the commands", () => {
  const errors = [..."abcdefgh"].map((topic) => protocolError(TOPIC_CODE, topic));
  const text = textOf(new AggregateError(errors));
  expect(text).toContain("on the topics a, b, c, d, e and 3 more is missing");
  expect(text).not.toContain("--topic");
  expect(text).toContain("`switchyard acls`");
});

test("a permission that nothing of ours needs is reported by its name", () => {
  expect(textOf(protocolError(TRANSACTION_CODE))).toContain(
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
  );
});

test("it stays fatal, and is named once", () => {
  const named = withPermission(protocolError(GROUP_CODE), needed, identity);
  expect(named).toBeInstanceOf(MissingPermissionError);
  expect(errorKind(named)).toBe("fatal");
  const outer = new Error("outer", { cause: named });
  expect(withPermission(outer, [], identity)).toBe(outer);
});

test("any other error stays as it is", () => {
  const error = protocolError(3);
  expect(withPermission(error, needed, identity)).toBe(error);
});

test.each([
  ["a user", sasl, null, "User:svc"],
  ["a token", { mechanism: "aws-msk-iam", region: "r" } as const, null, null],
  ["nobody", null, null, "User:ANONYMOUS"],
  ["a certificate", null, pem("client.pem"), "User:CN=client"],
])("the principal of %s", (_who, login, cert, principal) => {
  const tls = { ca: null, cert, key: null, serverName: null };
  expect(principalOf({ brokers: [], sasl: login, tls })).toBe(principal);
});

test("where only the brokers know the principal, the command has a place for it", () => {
  const login = { mechanism: "aws-msk-iam", region: "r" } as const;
  const { message } = withPermission(protocolError(GROUP_CODE), needed, {
    ...identity,
    sasl: login,
  });
  expect(message).toContain("is missing for the principal of this process (");
  expect(message).toContain("--allow-principal 'User:<principal>'");
});
