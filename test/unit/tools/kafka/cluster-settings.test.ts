// What the nodes of a local cluster are told.

import { describe, expect, test } from "vitest";

import { clusterNodeSettings } from "../../../../tools/kafka/cluster-settings.ts";
import { type ClientSecurity, scramArguments } from "../../../../tools/kafka/security.ts";
import { propertiesText } from "../../../../tools/kafka/settings.ts";

function settings(nodes: number, security: ClientSecurity) {
  return clusterNodeSettings({
    id: 2,
    listeners: {
      internal: "h:1",
      client: "h:2",
      controller: "h:3",
      fronted: [{ advertised: "p:1", client: "h:4" }],
    },
    controllers: Array.from({ length: nodes }, (_, index) => `c:${index}`),
    security,
    dataDirectory: "/data",
  });
}

test("three nodes keep everything three times, and write it twice at least", () => {
  const three = settings(3, { tls: false, sasl: false });
  expect(three["controller.quorum.voters"]).toBe("1@c:0,2@c:1,3@c:2");
  expect(three["offsets.topic.replication.factor"]).toBe("3");
  expect(three["min.insync.replicas"]).toBe("2");
  expect(three["advertised.listeners"]).toBe("INTERNAL://h:1,CLIENT://h:2,FRONTED0://p:1");
});

test("one node keeps what it can", () => {
  const one = settings(1, { tls: true, sasl: false });
  expect(one["default.replication.factor"]).toBe("1");
  expect(one["min.insync.replicas"]).toBe("1");
});

describe("clients", () => {
  test.each([
    [false, false, "PLAINTEXT"],
    [true, false, "SSL"],
    [false, true, "SASL_PLAINTEXT"],
    [true, true, "SASL_SSL"],
  ])("with TLS %s and a log-in %s speak %s, and nobody else does", (tls, sasl, protocol) => {
    expect(settings(3, { tls, sasl })["listener.security.protocol.map"]).toBe(
      `INTERNAL:PLAINTEXT,CLIENT:${protocol},FRONTED0:PLAINTEXT,CONTROLLER:PLAINTEXT`,
    );
    expect(scramArguments({ tls, sasl })).toHaveLength(sasl ? 4 : 0);
  });

  test("are shown a certificate, in one line of the properties", () => {
    const text = propertiesText(settings(3, { tls: true, sasl: true }));
    expect(text).toMatch(/^ssl\.keystore\.key=-----BEGIN .*KEY-----\\n/m);
    expect(text.split("\n").every((line) => line === "" || line.includes("="))).toBe(true);
  });
});
