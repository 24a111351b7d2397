// The connection to Kafka according to the configuration: the current certificates and passwords are used.

import { expect, test } from "vitest";

import { kafkaConnection } from "../../../../src/operator/connect/connection.ts";
import { config } from "../../../support/build/config-source.ts";

function withPassword(password: string) {
  const sasl = `sasl: { mechanism: plain, username: u, password: ${password} }`;
  return config(`kafka: { brokers: [a:1], tls: { serverName: kafka.example.com }, ${sasl} }`);
}

test("certificates and passwords are those of the current configuration", () => {
  let current = withPassword("first");
  const connection = kafkaConnection(current, () => current);
  expect(connection.tls).toMatchObject({ serverName: "kafka.example.com" });
  expect(connection.sasl).toMatchObject({ password: "first" });
  current = withPassword("second");
  expect(connection.sasl).toMatchObject({ password: "second" });
});
