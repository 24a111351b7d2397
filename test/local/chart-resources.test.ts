// Validates the resources of operators against the schemas of their kinds: the Prometheus operator, KEDA, and the
// Gateway API. The kinds of Kubernetes itself are tested in chart-kubernetes.test.ts.

import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { TriggerAuthentication } from "@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication";
import { PodMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { beforeEach, expect, test } from "vitest";

import { NO_HELM, type Resource, resources, VALUE_SETS } from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

const KINDS = {
  HTTPRoute,
  PodMonitor,
  PrometheusRule,
  ScaledObject,
  ServiceMonitor,
  TriggerAuthentication,
};
const OURS = /(?:keda\.sh|monitoring\.coreos\.com|gateway\.networking\.k8s\.io)\//;

/** @throws Error that names the wrong field. */
function validate(resource: Resource): void {
  const found = Object.entries(KINDS).find(([kind]) => kind === resource.kind);
  if (!found) throw new Error(`no schema of ${resource.kind}`);
  // The constructors expect specific types, but here any resource is passed to check whether it is valid.
  const Kind = found[1] as unknown as new (
    data: Resource,
  ) => { validate(): void; apiVersion: string };
  const one = new Kind(resource);
  expect(resource.apiVersion).toBe(Reflect.get(found[1], "apiVersion"));
  one.validate();
}

test("all of them, in all value sets", async () => {
  const seen = new Set<string>();
  for (const set of VALUE_SETS) {
    for (const resource of (await resources(set)).filter((r) => OURS.test(r.apiVersion))) {
      validate(resource);
      seen.add(resource.kind);
    }
  }
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      "HTTPRoute",
      "PodMonitor",
      "PrometheusRule",
      "ScaledObject",
      "ServiceMonitor",
      "TriggerAuthentication",
    ]),
  );
});

test("a wrong one is found", async () => {
  const [scaled] = (await resources("keda")).filter((r) => r.kind === "ScaledObject");
  if (scaled === undefined) throw new Error("there is none");
  expect(() => validate({ ...scaled, spec: { ...scaled.spec, minReplicaCount: "1" } })).toThrow(
    "minReplicaCount",
  );
});
