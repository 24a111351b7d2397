// The resources that the chart renders in addition to the workloads: network policies, scalers, routes, and jobs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import ipaddr from "ipaddr.js";
import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { METRICS } from "../../src/base/telemetry/metrics.ts";
import { isAllowedAddress, parseNetwork } from "../../src/domain/addresses.ts";
import { NO_HELM, only, type Resource, resources } from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

test("pods take containers and names of their own, and each stage reaches the operator's services and the admin ports", async () => {
  const all = await resources("pod-settings");
  for (const stage of ["ingest", "route", "audience", "deletion", "deliver", "delay"]) {
    const name = `rel-switchyard-${stage}`;
    const kind = stage === "audience" ? "StatefulSet" : "Deployment";
    const pod = only(all, kind, name).spec.template.spec;
    expect(pod.initContainers).toMatchObject([{ name: "first", args: ["rel"] }]);
    expect(pod.containers).toMatchObject([{ name: "switchyard" }, { name: "proxy" }]);
    expect(pod.hostAliases).toEqual([{ ip: "10.1.2.3", hostnames: ["kafka.internal"] }]);
    expect(pod).toMatchObject({ dnsPolicy: "None", dnsConfig: { nameservers: ["10.0.0.10"] } });
    const { egress } = only(all, "NetworkPolicy", name).spec;
    const services = [8443, 443, 4318].map((port) => ({ port, protocol: "TCP" }));
    expect(egress).toContainEqual({ ports: services });
    const own = { podSelector: { matchLabels: { "app.kubernetes.io/instance": "rel" } } };
    expect(egress).toContainEqual({ ports: [{ port: "admin", protocol: "TCP" }], to: [own] });
  }
});

test("common labels are on every resource and every pod, also on the pods of `helm test` and of the topics' job", async () => {
  const common = { "example.com/team": "data" };
  for (const set of [
    "separate",
    "network-policy",
    "monitoring",
    "topics-job",
    "audit-job",
    "console",
  ]) {
    const all = await resources(set, "--set", "commonLabels.example\\.com/team=data");
    for (const { kind, metadata, spec } of all) {
      expect([kind, metadata.name, metadata.labels]).toEqual([
        ...[kind, metadata.name, expect.objectContaining(common)],
      ]);
      if (spec?.template !== undefined) expect(spec.template.metadata.labels).toMatchObject(common);
    }
    expect(only(all, "Pod").metadata.labels).toMatchObject({
      "app.kubernetes.io/name": "switchyard-momentary",
      "app.kubernetes.io/managed-by": "Helm",
    });
  }
});

test("the page has a Deployment and a Service of its own, and finds the other pods by one name", async () => {
  const all = await resources("console");
  const name = "rel-switchyard-console";
  const { replicas, template } = only(all, "Deployment", name).spec;
  expect(replicas).toBe(1);
  expect(template.metadata.labels).toMatchObject({ exposed: "inside" });
  const [container] = template.spec.containers;
  expect(container.args).toEqual(["run", "--stages", "console"]);
  const ports = container.ports.map((port: { name: string }) => port.name);
  expect(ports).toEqual(["console", "admin"]);
  expect(container.env).toEqual(
    expect.arrayContaining([
      { name: "SWITCHYARD_CONSOLE_HOST", value: "::" },
      { name: "SWITCHYARD_CONSOLE_PORT", value: "9465" },
      { name: "SWITCHYARD_CONSOLE_ADMIN_ADDRESSES", value: "rel-switchyard-admin.ns:9464" },
    ]),
  );
  const selector = { ...labelsOf("console") };
  expect(only(all, "Service", name).spec).toMatchObject({ selector, type: "ClusterIP" });
  expect(only(all, "Deployment", name).spec.selector.matchLabels).toEqual(selector);
  const scaled = all.filter(({ kind }) => kind === "HorizontalPodAutoscaler");
  expect(scaled.map(({ metadata }) => metadata.name)).toEqual(["rel-switchyard"]);
  const [own] = only(all, "NetworkPolicy", name).spec.ingress;
  expect(own.ports).toEqual([{ port: "console", protocol: "TCP" }]);
  expect(own.from).toHaveLength(2);
  const other = only(all, "NetworkPolicy", "rel-switchyard").spec.ingress as Resource[];
  expect(other.flatMap((rule) => rule.ports.map((port: { port: string }) => port.port))).toEqual([
    ...["ingest", "admin"],
  ]);
  expect((await resources("defaults")).filter((r) => r.metadata.name === name)).toEqual([]);
});

function labelsOf(component: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": "switchyard",
    "app.kubernetes.io/instance": "rel",
    "app.kubernetes.io/component": component,
  };
}

describe("the network policy", () => {
  const blocks = (policy: Resource) => {
    const rule = policy.spec.egress.find((r: Resource) =>
      r.to?.some(
        (to: object) => "ipBlock" in to && "except" in (to as { ipBlock: object }).ipBlock,
      ),
    );
    return (rule?.to ?? []).flatMap(
      (to: { ipBlock?: { cidr: string; except?: readonly string[] } }) => to.ipBlock ?? [],
    );
  };

  test("lets deliver alone out, to what the product itself calls public, and to what is opened", async () => {
    const all = await resources("network-policy");
    const policies = all.filter((r) => r.kind === "NetworkPolicy");
    expect(
      policies.map((r) => r.metadata.name).filter((name) => name.endsWith("-route")),
    ).toHaveLength(1);
    expect(policies.filter((r) => blocks(r).length > 0).map((r) => r.metadata.name)).toEqual([
      "rel-switchyard-deliver",
    ]);
    const [v4, nat64, v6, ...opened] = blocks(only(all, "NetworkPolicy", "rel-switchyard-deliver"));
    expect(opened).toEqual([{ cidr: "10.96.0.0/12" }, { cidr: "10.20.1.7/32" }]);
    for (const network of [...v4.except, ...nat64.except, ...v6.except]) {
      const [first, prefix] = network.split("/");
      const inside = prefix === "128" ? first : first.replace(/0$/, "1").replace(/::$/, "::1");
      expect([network, isAllowedAddress(inside, [])]).toEqual([network, false]);
    }
    const isOpen = (ip: string, { cidr, except }: { cidr: string; except: readonly string[] }) => {
      const within = (network: string) => isIn(ip, network);
      return within(cidr) && !except.some(within);
    };
    // Tests each first byte, and the addresses next to each boundary.
    const special = specialNetworks(ipaddr.IPv4.prototype);
    const edges = [...v4.except, ...special].flatMap((network: string) => neighbours(network));
    for (const ip of [...Array.from({ length: 256 }, (_, byte) => `${byte}.77.3.9`), ...edges]) {
      expect([ip, isOpen(ip, v4)]).toEqual([ip, isAllowedAddress(ip, [])]);
      const mapped = ipaddr.parse(`64:ff9b::${ip}`).toString();
      expect([mapped, isOpen(mapped, nat64)]).toEqual([mapped, isAllowedAddress(mapped, [])]);
    }
    const special6 = specialNetworks(ipaddr.IPv6.prototype).map((text) => text.split("/")[0] ?? "");
    expect(special6.length).toBeGreaterThan(15);
    for (const ip of [...special6, "2002:a00:1::1", "2606:4700::1111", "2a00:1450::5", "4000::"]) {
      const isSomewhere = isOpen(ip, nat64) || isOpen(ip, v6);
      expect([ip, isSomewhere]).toEqual([ip, isAllowedAddress(ip, [])]);
    }
  });

  test("ports of Kafka and of the registry are those of the configuration", async () => {
    const policy = only(await resources("network-policy"), "NetworkPolicy", "rel-switchyard-route");
    const ports = policy.spec.egress.map((r: Resource) =>
      r.ports.map((p: { port: number }) => p.port),
    );
    expect(ports).toEqual([[53, 53], [9092, 9094], [8081, 443], ["admin"], [4318]]);
  });

  test("only those named reach ingest and metrics, and the release itself", async () => {
    const all = await resources("network-policy");
    const from = (name: string) => only(all, "NetworkPolicy", name).spec.ingress;
    expect(from("rel-switchyard-ingest")).toHaveLength(2);
    expect(from("rel-switchyard-route")).toHaveLength(1);
    expect(from("rel-switchyard-momentary")).toEqual([]);
    expect(JSON.stringify(from("rel-switchyard-ingest")[0].from)).toContain('"ingress"');
  });
});

/** The networks that the library for addresses does not call public. */
function specialNetworks(kind: ipaddr.IPv4 | ipaddr.IPv6): readonly string[] {
  type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];
  const ranges: Record<string, Range | readonly Range[]> = Reflect.get(kind, "SpecialRanges");
  return Object.values(ranges)
    .flatMap((each) => (Array.isArray(each[0]) ? each : [each]) as readonly Range[])
    .map(([address, prefix]) => `${address}/${prefix}`);
}

/** Returns the first and the last address of the network, the one before it, and the one after it. */
function neighbours(network: string): readonly string[] {
  const [address = "", prefix] = network.split("/");
  const first = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const count = 2 ** (32 - Number(prefix));
  const numbers = [first - 1, first, first + count - 1, first + count];
  return numbers
    .filter((number) => number >= 0 && number < 2 ** 32)
    .map((number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join("."));
}

function isIn(ip: string, network: string): boolean {
  const parsed = parseNetwork(network);
  return (
    parsed !== null &&
    bits(ip).startsWith(bits(network.split("/")[0] ?? "").slice(0, parsed.prefixBits)) &&
    ip.includes(":") === network.includes(":")
  );
}

function bits(ip: string): string {
  return (parseNetwork(ip)?.bytes ?? []).map((byte) => byte.toString(2).padStart(8, "0")).join("");
}

test("KEDA asks for metrics and labels that there are", async () => {
  const names = Object.values(METRICS).map(({ name }) => name);
  const all = [...(await resources("keda")), ...(await resources("keda-together"))];
  const queries = all
    .filter((r) => r.kind === "ScaledObject")
    .map((r) => r.spec.triggers[0].metadata.query);
  expect(queries).toHaveLength(6);
  for (const query of queries) {
    for (const [, name = ""] of query.matchAll(/(switchyard_\w+)\{/g)) {
      expect(names).toContain(name.replace(/_bucket$/, ""));
    }
    expect(query.split("(").length).toBe(query.split(")").length);
  }
  const deliver = only(all, "ScaledObject", "rel-switchyard-deliver").spec;
  expect(deliver).toMatchObject({ minReplicaCount: 2, maxReplicaCount: 24 });
  expect(deliver.triggers[0]).toMatchObject({
    metricType: "Value",
    metadata: { threshold: "20", ignoreNullValues: "false", authModes: "bearer" },
    authenticationRef: { name: "rel-switchyard-deliver" },
  });
});

test("the alerts are those of the plain file, and lead to the runbook's address", async () => {
  const file = join(import.meta.dirname, "../../deploy/prometheus/rules.yaml");
  const plain = readFileSync(file, "utf8");
  const { spec } = only(await resources("monitoring"), "PrometheusRule");
  const base = "https://git.example.com/switchyard/blob/main/docs/";
  expect(spec).toEqual(parse(plain.replaceAll("runbook_url: docs/", `runbook_url: ${base}`)));
  expect(JSON.stringify(spec)).toContain(`"runbook_url":"${base}troubleshooting.md#`);
  const none = only(
    await resources("monitoring", "--set", "prometheusRule.runbookBase="),
    "PrometheusRule",
  );
  expect(none.spec).toEqual(parse(plain));
});

test("the dashboard is that of the plain file", async () => {
  const file = join(import.meta.dirname, "../../deploy/grafana/dashboard.json");
  const { data } = only(await resources("monitoring"), "ConfigMap", "rel-switchyard-dashboard");
  expect(JSON.parse(data["switchyard.json"])).toEqual(JSON.parse(readFileSync(file, "utf8")));
});

test.each([
  ["monitoring", "ServiceMonitor"],
  ["pod-monitor", "PodMonitor"],
])("the stages of a release are one job, which rules add up over (%s)", async (set, kind) => {
  const { spec } = only(await resources(set), kind);
  expect(spec.jobLabel).toBe("app.kubernetes.io/instance");
});

describe("routes", () => {
  test("an Ingress takes bodies of 10 MiB, on each host", async () => {
    const { metadata, spec } = only(await resources("ingress"), "Ingress");
    expect(metadata).toMatchObject({
      annotations: {
        "nginx.ingress.kubernetes.io/proxy-body-size": "10m",
        "cert-manager.io/cluster-issuer": "letsencrypt",
      },
    });
    expect(spec.rules.map((r: Resource) => [r.host, r.http.paths[0].path])).toEqual([
      ["calls.example.com", "/"],
      ["t.example.com", "/v1"],
    ]);
  });

  test("a Service says whether ingest speaks HTTPS", async () => {
    const protocol = async (set: string) =>
      only(await resources(set), "Service", "rel-switchyard").spec.ports[0].appProtocol;
    expect(await protocol("ingress")).toBe("http");
    expect(await protocol("http-route")).toBe("https");
  });
});

test("resources of one's own are templates, as maps and as texts", async () => {
  const all = await resources("extra-objects");
  expect(only(all, "ConfigMap", "rel-extra").data).toEqual({ namespace: "ns" });
  expect(only(all, "ConfigMap", "calls-text").data.image).toMatch(/switchyard:\d/);
  const ours = all.filter((r) => !/extra|text/.test(r.metadata.name) && r.kind !== "Pod");
  for (const { metadata } of ours)
    expect(metadata).toMatchObject({
      labels: { team: "data" },
      annotations: { owner: "data@example.com" },
    });
});

test("the topics' Job runs before the release, with the same configuration and secrets", async () => {
  const all = await resources("topics-job");
  const { metadata, spec } = only(all, "Job");
  expect(metadata).toMatchObject({ annotations: { "helm.sh/hook": "pre-install,pre-upgrade" } });
  const pod = spec.template.spec;
  expect(pod.containers[0].args).toEqual(["topics", "--apply", "--kafka-timeout", "5m"]);
  const own = only(all, "ConfigMap", pod.volumes[0].configMap.name);
  expect(own.metadata).toMatchObject({
    annotations: { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-5" },
  });
  expect(own.data).toEqual(only(all, "ConfigMap", "rel-switchyard-config").data);
  expect(pod.volumes.map((v: { name: string }) => v.name)).toContain("secret");
});

test("the CronJob of the audit runs with the release's configuration and secrets, and fails at once if a sum does not close", async () => {
  const all = await resources("audit-job");
  const { metadata, spec } = only(all, "CronJob");
  expect(spec).toMatchObject({ schedule: "0 4 * * *", timeZone: "Europe/Berlin" });
  const { template, podFailurePolicy } = spec.jobTemplate.spec;
  const { containers, volumes, serviceAccountName } = template.spec;
  const [{ name, args }] = containers;
  expect(args.slice(0, 4)).toEqual(["audit", "--json", "--since", "26h"]);
  expect(podFailurePolicy.rules).toMatchObject([
    { action: "FailJob", onExitCodes: { containerName: name, operator: "In", values: [2, 3] } },
  ]);
  expect(serviceAccountName).toBe(only(all, "ServiceAccount").metadata.name);
  expect(volumes).toEqual(
    expect.arrayContaining([
      { name: "config", configMap: { name: "rel-switchyard-config" } },
      expect.objectContaining({ name: "secret" }),
    ]),
  );
  const { groups } = only(all, "PrometheusRule").spec;
  const rules: { alert?: string; expr: string }[] = groups.flatMap((g: Resource) => g.rules);
  const { expr = "" } = rules.find(({ alert }) => alert === "SwitchyardAuditFailed") ?? {};
  const [, pattern = "no pattern"] = /cronjob=~"([^"]+)"/.exec(expr) ?? [];
  expect(metadata.name).toMatch(new RegExp(`^(?:${pattern})$`));
});

test("helm test succeeds when every pod is ready, and fails when one is not", async () => {
  const pod = only(await resources("defaults"), "Pod");
  expect(pod.spec.containers[0].args).toEqual(["config", "check"]);
  const [program, ...args] = pod.spec.containers[1].command.slice(0, 4);
  expect([program, ...args.slice(0, 2)]).toEqual(["node", "--input-type=module", "--eval"]);
  const urls = pod.spec.containers[1].command.slice(4);
  expect(urls).toEqual([
    "http://rel-switchyard-admin:9464/readyz",
    "http://rel-switchyard:80/v1/health",
  ]);
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end("{}"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const asked = async () => {
    const child = spawn(process.execPath, [...args, `http://localhost:${port}/readyz`]);
    return (await once(child, "close"))[0];
  };
  expect(await asked()).toBe(0);
  status = 503;
  expect(await asked()).toBe(1);
  server.close();
  expect(await asked()).toBe(1);
});
