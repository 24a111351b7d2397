/**
 * A stand-in for the part of the Kubernetes API that `helm install --dry-run=server` uses: the kinds that exist, and
 * the Secrets of one namespace.
 */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { stringify } from "yaml";

const KINDS: Readonly<Record<string, readonly string[]>> = {
  v1: ["ConfigMap", "Pod", "Secret", "Service", "ServiceAccount"],
  "apps/v1": ["Deployment", "StatefulSet"],
  "policy/v1": ["PodDisruptionBudget"],
};

/** Keys of each Secret. */
export type Secrets = Readonly<Record<string, readonly string[]>>;

export interface ApiServer extends AsyncDisposable {
  /** Path of a kubeconfig with the address of this server. */
  readonly kubeconfig: string;
}

export async function apiServer(secrets: Secrets, kubeconfig: string): Promise<ApiServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const found = responseTo(pathname, secrets);
    const body = JSON.stringify(
      found ?? { kind: "Status", apiVersion: "v1", code: 404, reason: "NotFound" },
    );
    response.writeHead(found === null ? 404 : 200, { "content-type": "application/json" });
    response.end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: {} }],
    "current-context": "c",
  };
  writeFileSync(kubeconfig, stringify(config));
  return {
    kubeconfig,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Null if the object does not exist. */
function responseTo(path: string, secrets: Secrets): object | null {
  if (path === "/version") return { major: "1", minor: "33", gitVersion: "v1.33.0" };
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"] };
  if (path === "/apis") {
    const groups = Object.keys(KINDS).filter((version) => version !== "v1");
    return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupOf) };
  }
  const [, version = ""] = /^\/apis?\/([^/]+(?:\/[^/]+)?)$/.exec(path) ?? [];
  const kinds = KINDS[version];
  if (kinds) return resourceList(version, kinds);
  const [isSecret, name] = /^\/api\/v1\/namespaces\/ns\/secrets(?:\/(.+))?$/.exec(path) ?? [];
  if (isSecret === undefined) return null;
  if (name !== undefined) return secrets[name] ? secretOf(name, secrets[name]) : null;
  const items = Object.entries(secrets).map(([each, keys]) => secretOf(each, keys));
  return { kind: "SecretList", apiVersion: "v1", metadata: {}, items };
}

function groupOf(groupVersion: string): object {
  const [name, version] = groupVersion.split("/");
  const preferredVersion = { groupVersion, version };
  return { name, versions: [preferredVersion], preferredVersion };
}

function resourceList(groupVersion: string, kinds: readonly string[]): object {
  const resources = kinds.map((kind) => {
    const name = `${kind.toLowerCase()}s`;
    return { name, singularName: "", namespaced: true, kind, verbs: ["create", "get", "list"] };
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

function secretOf(name: string, keys: readonly string[]): object {
  const data = Object.fromEntries(keys.map((key) => [key, "eA=="]));
  return { kind: "Secret", apiVersion: "v1", metadata: { name, namespace: "ns" }, data };
}
