// The image and the compose file: what they name exists, is pinned, and agrees with the project.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { NODE_FLAGS } from "../../../bench/measure.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { KAFKA_IMAGE } from "../../../tools/kafka/docker.ts";
import { REGISTRY_IMAGE } from "../../../tools/kafka/registry-docker.ts";
import { REGISTRY_PATH, REGISTRY_PORT } from "../../../tools/kafka/registry-settings.ts";

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly volumes?: readonly string[];
}

const ROOT = join(import.meta.dirname, "../../..");
const DOCKERFILE = read("deploy/Dockerfile");
const services: Readonly<Record<string, Service>> = parse(read("docker-compose.yml")).services;
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

test("the compose file runs Kafka, a registry, Switchyard and Prometheus from pinned images", () => {
  expect(Object.keys(services)).toEqual(["kafka", "registry", "switchyard", "prometheus"]);
  const images = Object.values(services).flatMap(({ image }) => image ?? []);
  expect(images.filter((image) => !isPinned(image))).toEqual([]);
  expect(["a/b:latest", "a/b", "a/b:1"].filter(isPinned)).toEqual([]);
});

test("the image and the command start Node with the flags that benches measure with", () => {
  const quoted = NODE_FLAGS.map((flag) => JSON.stringify(flag));
  const list = quoted.join(", ");
  expect(DOCKERFILE).toContain(`ENTRYPOINT ["node", ${list}, "src/main.ts"]\n`);
  expect(read("bin/switchyard.js")).toMatch(
    new RegExp(`^#!/usr/bin/env -S node ${NODE_FLAGS.join(" ")}\n`),
  );
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
  const loaded = loadConfig({ file: join(ROOT, "deploy/compose/switchyard.yaml"), env: {} });
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

test("Prometheus asks the admin port that Switchyard exposes", () => {
  const [job] = parse(read("deploy/prometheus.yml")).scrape_configs;
  expect(job.static_configs).toEqual([{ targets: ["switchyard:9464"] }]);
  expect(DOCKERFILE).toContain("\nEXPOSE 8080 9464\n");
});

test("the image has this project's Node, no root, no development dependencies", () => {
  const stages = DOCKERFILE.split(/^(?=FROM )/m).slice(1);
  const bases = stages.map((stage) => /^FROM (\S+)/.exec(stage)?.[1]);
  const expected = `node:${manifest.devDependencies.node}-slim`;
  expect(bases).toEqual([expected, expected]);
  expect(stages.at(-1)).toMatch(/^USER node$/m);
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
