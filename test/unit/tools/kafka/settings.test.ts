// The settings of the nodes in a local cluster.

import { describe, expect, test } from "vitest";

import { type ClientSecurity, scramArguments } from "../../../../tools/kafka/security.ts";
import { nodeSettings, propertiesText } from "../../../../tools/kafka/settings.ts";

function settings(nodes: number, security: ClientSecurity) {
  return nodeSettings({
    id: nodes,
    plaintext: { advertised: "h:1", bound: "h:1" },
    client: { advertised: "h:2", bound: "h:2" },
    fronted: [{ advertised: "p:1", bound: "h:4" }],
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
  expect(three["advertised.listeners"]).toBe("PLAINTEXT://h:1,FRONTED0://p:1");
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
  ])(
    "with TLS %s and a authentication %s speak %s, and nobody else does",
    (tls, sasl, protocol) => {
      const own = tls || sasl ? `CLIENT:${protocol},` : "";
      expect(settings(3, { tls, sasl })["listener.security.protocol.map"]).toBe(
        `PLAINTEXT:PLAINTEXT,${own}FRONTED0:PLAINTEXT,CONTROLLER:PLAINTEXT`,
      );
      expect(scramArguments({ tls, sasl })).toHaveLength(sasl ? 4 : 0);
    },
  );

  test("are shown a certificate, in one line of the properties", () => {
    const text = propertiesText(settings(3, { tls: true, sasl: true }));
    expect(text).toMatch(/^ssl\.keystore\.key=-----BEGIN .*KEY-----\\n/m);
    expect(text.split("\n").every((line) => line === "" || line.includes("="))).toBe(true);
  });
});
