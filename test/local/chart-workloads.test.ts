// The pods, Services and disruption budgets that the chart renders.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";

import { STAGE_NAMES, STAGES } from "../../src/domain/stages.ts";
import { NO_HELM, only, type Resource, resources, VALUE_SETS } from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

const MOMENTARY = /^(?:Pod|Job)$/;
const WORKLOADS = /^(?:Deployment|StatefulSet)$/;

function workloads(all: readonly Resource[]): readonly Resource[] {
  return all.filter(({ kind }) => WORKLOADS.test(kind));
}

function podSpec(resource: Resource) {
  return resource.kind === "Pod" ? resource.spec : resource.spec.template.spec;
}

test("selectors and names of a release never change: an upgrade would fail", async () => {
  const golden = join(import.meta.dirname, "../golden/chart/selectors.json");
  const found: Record<string, unknown> = {};
  for (const set of ["defaults", "separate", "extra-objects", "console"]) {
    for (const { kind, metadata, spec } of await resources(set)) {
      // The other values of this set are the defaults.
      if (set === "console" && metadata.labels?.["app.kubernetes.io/component"] !== set) continue;
      const { selector, serviceName, volumeClaimTemplates, podManagementPolicy } = spec ?? {};
      const isFixed = WORKLOADS.test(kind);
      if (!isFixed && kind !== "Service") continue;
      const claims = volumeClaimTemplates?.map((claim: Resource) => claim.metadata);
      const fixed = isFixed ? { serviceName, claims, podManagementPolicy } : {};
      found[`${set} ${kind} ${metadata.name}`] = JSON.parse(JSON.stringify({ selector, ...fixed }));
    }
  }
  expect(found).toEqual(JSON.parse(readFileSync(golden, "utf8")));
});

test("each workload's own pods are selected, and no pods of a moment", async () => {
  for (const set of VALUE_SETS) {
    const all = await resources(set);
    const selects = (selector: object, labels: object) => {
      return Object.entries(selector).every(([key, value]) => Reflect.get(labels, key) === value);
    };
    const selectors = all.flatMap(({ kind, spec }) => {
      if (kind === "Service") return [spec.selector];
      return WORKLOADS.test(kind) || kind === "PodDisruptionBudget"
        ? [spec.selector.matchLabels]
        : [];
    });
    for (const workload of workloads(all)) {
      const { labels } = workload.spec.template.metadata;
      expect(selects(workload.spec.selector.matchLabels, labels)).toBe(true);
      const others = workloads(all).filter((other) => other !== workload);
      expect(others.filter((o) => selects(o.spec.selector.matchLabels, labels))).toEqual([]);
    }
    for (const { kind, metadata, spec } of all.filter((r) => MOMENTARY.test(r.kind))) {
      const labels = kind === "Pod" ? metadata.labels : spec.template.metadata.labels;
      expect(selectors.filter((selector) => selects(selector, labels as object))).toEqual([]);
    }
  }
});

test("every pod of every value set is restricted", async () => {
  for (const set of VALUE_SETS) {
    const all = (await resources(set)).filter(
      (r) => WORKLOADS.test(r.kind) || MOMENTARY.test(r.kind),
    );
    expect(all.length).toBeGreaterThan(1);
    for (const spec of all.map(podSpec)) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const container of spec.containers) {
        expect(container).toMatchObject({
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
          resources: { requests: expect.anything(), limits: { memory: expect.any(String) } },
        });
        expect(container.image).toMatch(/^registry\.example\.com/);
        // The container may write only to volumes that have a size limit, or to a separate volume.
        const writable = container.volumeMounts.filter(
          (m: { readonly readOnly?: true }) => !m.readOnly,
        );
        for (const { name } of writable) {
          const volume = spec.volumes.find((v: { name: string }) => v.name === name);
          if (volume) expect(volume.emptyDir.sizeLimit).toMatch(/^\d+[MG]i$/);
        }
        expect(container.volumeMounts.filter((m: object) => "subPath" in m)).toEqual([]);
      }
      expect(JSON.stringify(spec)).not.toMatch(/hostPath|hostNetwork|hostPID|"sh"|\/bin\//);
    }
  }
});

describe("stages", () => {
  test("one Deployment runs all", async () => {
    const [one, ...others] = workloads(await resources("defaults"));
    expect(others).toEqual([]);
    const args = one?.spec.template.spec.containers[0].args;
    expect(args.slice(0, 2)).toEqual(["run", "--stages"]);
    expect(args[2].split(",")).toEqual(STAGE_NAMES.filter((name) => STAGES[name].isDefault));
  });

  test("each has its own, with what differs from all others", async () => {
    const all = workloads(await resources("separate"));
    const byStage = new Map(
      all.map((r) => [r.spec.template.spec.containers[0].args[2], r] as const),
    );
    expect([...byStage.keys()].sort()).toEqual(["audience", "delay", "deliver", "ingest", "route"]);
    expect(byStage.get("deliver")?.spec.replicas).toBe(12);
    expect(byStage.get("delay")?.spec.replicas).toBe(1);
    expect(byStage.get("deliver")?.spec.template.metadata.annotations).toMatchObject({
      team: "delivery",
    });
    const resourcesOf = (stage: string) =>
      byStage.get(stage)?.spec.template.spec.containers[0].resources;
    expect(resourcesOf("ingest").requests).toEqual({ cpu: "1", memory: "512Mi" });
    expect(resourcesOf("route").requests).toEqual({ cpu: "250m", memory: "512Mi" });
    const budgets = (await resources("separate")).filter((r) => r.kind === "PodDisruptionBudget");
    expect(budgets.map((r) => r.metadata.name)).not.toContain("rel-switchyard-delay");
  });

  test("audience keeps its store on a volume, or in a folder with a limit", async () => {
    const state = (r: Resource) =>
      r.spec.template.spec.volumes.find((v: { readonly name: string }) => v.name === "state");
    const kept = only(await resources("separate"), "StatefulSet");
    expect(kept.spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe("20Gi");
    expect(kept.spec.persistentVolumeClaimRetentionPolicy).toEqual({
      whenDeleted: "Retain",
      whenScaled: "Delete",
    });
    expect(state(kept)).toBeUndefined();
    const lost = only(
      await resources("separate", "--set", "audienceStore.persistent=false"),
      "StatefulSet",
    );
    expect(lost.spec.volumeClaimTemplates).toBeUndefined();
    expect(state(lost).emptyDir).toEqual({ sizeLimit: "2Gi" });
    const none = only(await resources("scheduling"), "Deployment");
    expect(state(none)).toBeUndefined();
  });
});

describe("changes of the configuration", () => {
  const checksum = async (set: string, ...args: readonly string[]) => {
    const one = only(await resources(set, ...args), "Deployment");
    return one.spec.template.metadata.annotations?.["checksum/config"];
  };
  const destinations = [
    "--set-json",
    'config.destinations=[{"id":"new","type":"topic","name":"New"}]',
  ];
  const window = ["--set", "config.delivery.retryWindow=1h"];

  test("with configReload, pods restart only for what needs it", async () => {
    const before = await checksum("defaults");
    expect(await checksum("defaults", ...destinations)).toBe(before);
    expect(await checksum("defaults", ...window)).not.toBe(before);
  });

  test("without it they restart for everything", async () => {
    const before = await checksum("scheduling");
    expect(await checksum("scheduling", ...destinations)).not.toBe(before);
  });

  test("of another's ConfigMap nothing is known", async () => {
    expect(await checksum("existing-configmap")).toBeUndefined();
  });
});

test("with a scaler there are no replicas", async () => {
  for (const set of ["autoscaling", "keda", "keda-together"]) {
    const all = await resources(set);
    const scaled = all.flatMap((r) => r.spec?.scaleTargetRef ?? []);
    expect(scaled.length).toBeGreaterThan(0);
    for (const { kind, name } of scaled)
      expect(only(all, kind, name).spec).not.toHaveProperty("replicas");
    const others = workloads(all).filter((r) => !scaled.some((s) => s.name === r.metadata.name));
    expect(others.filter((r) => r.spec.replicas === undefined)).toEqual([]);
  }
});

test("the pause before SIGTERM is there where Kubernetes has it, and where ingest runs", async () => {
  const sleeps = async (set: string, version: string) => {
    const all = workloads(await resources(set, "--kube-version", version));
    return all.flatMap((r) => r.spec.template.spec.containers[0].lifecycle ?? []);
  };
  expect(await sleeps("defaults", "1.29.9")).toEqual([]);
  expect(await sleeps("defaults", "1.30.0")).toEqual([{ preStop: { sleep: { seconds: 5 } } }]);
  expect(await sleeps("defaults", "v1.31.2-eks-7f9249a")).toHaveLength(1);
  expect(await sleeps("separate", "1.33.0")).toHaveLength(1);
});

test("probes: start-up and liveness need no Kafka, readiness reports service", async () => {
  for (const { spec } of workloads(await resources("separate"))) {
    const [container] = spec.template.spec.containers;
    expect(container.startupProbe.httpGet).toEqual({ path: "/livez", port: "admin" });
    expect(container.livenessProbe.httpGet).toEqual({ path: "/livez", port: "admin" });
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "admin" });
  }
});
