// The image and the compose file: what they name exists, is pinned, and agrees with the project.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { NODE_FLAGS } from "../../../bench/measure.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { KAFKA_IMAGE } from "../../../tools/kafka/docker.ts";
import { REGISTRY_IMAGE, REGISTRY_PORT } from "../../../tools/kafka/registry.ts";
import { REGISTRY_PATH } from "../../../tools/kafka/registry-java.ts";

interface Service {
  readonly image?: string;
  readonly entrypoint?: readonly string[];
  readonly healthcheck?: { readonly test?: unknown; readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly volumes?: readonly string[];
}

const ROOT = join(import.meta.dirname, "../../..");
const DOCKERFILE = read("deploy/Dockerfile");
const services: Readonly<Record<string, Service>> = parse(read("docker-compose.yml"), {
  merge: true,
}).services;
const manifest = JSON.parse(read("package.json"));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function isPinned(image: string): boolean {
  return /:v?\d+\.\d+\.\d+(-[a-z]+)?$/.test(image);
}

/** Files and folders of this project that the services mount or build from. */
function namedPaths(service: Service): string[] {
  const mounts = (service.volumes ?? []).filter((volume) => volume.startsWith("./"));
  const build = service.build ? [service.build.context, service.build.dockerfile] : [];
  return [...mounts.map((mount) => mount.slice(0, mount.indexOf(":"))), ...build];
}

test("the compose file runs the demonstration and what surrounds it, from pinned images", () => {
  expect(Object.keys(services)).toEqual([
    ...["kafka", "registry", "receiver", "switchyard", "calls", "prometheus", "grafana"],
  ]);
  const foreign = Object.values(services).filter(({ build }) => build === undefined);
  const images = foreign.flatMap(({ image }) => image ?? []);
  expect(images).toHaveLength(4);
  expect(images.filter((image) => !isPinned(image))).toEqual([]);
  expect(["a/b:latest", "a/b", "a/b:1"].filter(isPinned)).toEqual([]);
});

test("the image and the command start Node with the flags that benches measure with", () => {
  const quoted = NODE_FLAGS.map((flag) => JSON.stringify(flag));
  const list = quoted.join(", ");
  const heap = JSON.stringify("--max-old-space-size-percentage=65");
  expect(DOCKERFILE).toContain(`ENTRYPOINT ["node", ${heap}, ${list}, "src/main.ts"]\n`);
  expect(read("bin/node-24.js")).toContain(`NODE_FLAGS = [\n  ${quoted.join(",\n  ")},\n];`);
});

test("its Kafka and its registry are those of the tests", () => {
  expect(services.kafka?.image).toBe(KAFKA_IMAGE);
  expect(services.registry?.image).toBe(REGISTRY_IMAGE);
});

test("the files that it names exist", () => {
  const paths = Object.values(services).flatMap(namedPaths);
  expect(paths).toContain("./deploy/prometheus.yml");
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("the configuration that it mounts is valid, and reaches the compose file's Kafka", () => {
  const env = services.switchyard?.environment ?? {};
  const loaded = loadConfig({ file: join(ROOT, "deploy/compose/switchyard.yaml"), env });
  expect(loaded).toMatchObject({
    kind: "config",
    config: {
      kafka: { brokers: ["kafka:29092"] },
      registry: { urls: [`http://registry:${REGISTRY_PORT}${REGISTRY_PATH}`] },
      admin: { port: 9464 },
    },
  });
  expect(read("docker-compose.yml")).toContain("CONTAINERS://kafka:29092");
});

test("a service that others wait for has a health check, and all of them exist", () => {
  const awaited = Object.values(services).flatMap(({ depends_on: before }) =>
    Object.entries(before ?? {}),
  );
  expect(awaited.length).toBeGreaterThan(4);
  for (const [name, { condition }] of awaited) {
    expect(condition).toBe("service_healthy");
    expect(services[name]?.healthcheck?.test, name).toBeDefined();
  }
});

test("the receiver has the destinations' secret, and an address that webhooks may go to", () => {
  const { environment } = services.receiver ?? {};
  expect(environment?.RECEIVER_SECRET).toBe(services.switchyard?.environment?.RECEIVER_SECRET);
  const [, subnet = ""] = /subnet: ([\d./]+)/.exec(read("docker-compose.yml")) ?? [];
  expect(read("deploy/compose/switchyard.yaml")).toContain(`allowNetworks: [${subnet}]`);
});

test("Grafana finds its data source and the dashboard where they are mounted", () => {
  const provisioning = "deploy/grafana/provisioning";
  const [source] = parse(read(`${provisioning}/datasources/prometheus.yaml`)).datasources;
  expect(source.url).toBe("http://prometheus:9090");
  const [provider] = parse(read(`${provisioning}/dashboards/switchyard.yaml`)).providers;
  const mounted = services.grafana?.volumes?.map((volume) => volume.split(":")[1]);
  expect(mounted).toContain(`${provider.options.path}/switchyard.json`);
});

test("each platform of the image has its prebuilt packages in the lock file", () => {
  const { packages } = JSON.parse(read("package-lock.json"));
  const natives = ["@node-rs/crc32", "@napi-rs/snappy", "@antoniomuso/lz4-napi"];
  const wanted = natives.flatMap((name) => [`${name}-linux-x64-gnu`, `${name}-linux-arm64-gnu`]);
  expect(wanted.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
});

test("Prometheus asks the admin port that Switchyard exposes", () => {
  const [job] = parse(read("deploy/prometheus.yml")).scrape_configs;
  expect(job.static_configs).toEqual([{ targets: ["switchyard:9464"] }]);
  expect(DOCKERFILE).toContain("\nEXPOSE 8080 9464\n");
});

test("the image has this project's Node, no root, no development dependencies", () => {
  const stages = DOCKERFILE.split(/^(?=FROM )/m).slice(1);
  const bases = stages.map((stage) => /^FROM (\S+)/.exec(stage)?.[1]);
  const expected = `node:${manifest.devDependencies.node}-slim`;
  expect(bases).toEqual([`${expected}$\{BASE_DIGEST}`, "base", "base", "base", "base"]);
  expect(DOCKERFILE).toContain(`image.base.name="docker.io/library/${expected}"`);
  expect(stages.at(-1)).toMatch(/^USER 1000:1000$/m);
  expect(stages.at(-1)).toMatch(/^STOPSIGNAL SIGTERM$/m);
  expect(DOCKERFILE).toContain("npm ci --omit=dev --ignore-scripts");
});

test("what the image copies exists and passes .dockerignore", () => {
  const copied = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = ""]) =>
    paths.split(" "),
  );
  expect(copied).toContain("src");
  expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const [first, ...allowed] = read(".dockerignore")
    .split("\n")
    .filter((line) => !/^#|^$/.test(line));
  expect(first).toBe("*");
  expect(new Set(allowed)).toEqual(new Set(copied.map((path) => `!${path}`)));
});
