// The steps of a release, and which of them are skipped.

import { expect, test } from "vitest";

import { productionOnly, type Release, releaseSteps } from "../../../../tools/release/plan.ts";

const RELEASE: Release = {
  version: "1.2.3",
  registry: "registry.example.com/team",
  revision: "abc",
  createdAt: "2026-03-01T09:30:15+00:00",
  baseDigest: `sha256:${"0".repeat(64)}`,
  hasCosign: true,
  hasChart: true,
  publishesNpm: true,
  source: null,
};

function commands(change: Partial<Release> = {}): readonly string[] {
  return releaseSteps({ ...RELEASE, ...change }).map(({ command }) => command.join(" "));
}

test("the image is built for both platforms, with its bill of materials, provenance and labels", () => {
  const build = commands().find((command) => command.startsWith("docker"));
  expect(build).toContain("--platform linux/amd64,linux/arm64");
  expect(build).toContain(`--build-arg BASE_DIGEST=@sha256:${"0".repeat(64)}`);
  expect(build).toContain("--sbom=true --provenance=mode=max");
  expect(build).toContain("--label org.opencontainers.image.version=1.2.3");
  expect(build).toContain("--label org.opencontainers.image.revision=abc");
  expect(build).toContain("--tag registry.example.com/team/switchyard:1.2.3 --push");
  expect(build).not.toContain("image.source");
  const named = commands({ source: "https://example.com/switchyard" }).join("\n");
  expect(named).toContain("--label org.opencontainers.image.source=https://example.com/switchyard");
});

test("it is signed by its digest after the push, where cosign is at hand", () => {
  const all = commands();
  const pushed = all.findIndex((command) => command.startsWith("docker"));
  const signed = all.indexOf("cosign sign --yes registry.example.com/team/switchyard@{DIGEST}");
  expect(signed).toBeGreaterThan(pushed);
  expect(commands({ hasCosign: false }).join("\n")).not.toContain("cosign");
});

test("the chart carries the version, and goes to the same registry", () => {
  expect(commands()).toEqual(
    expect.arrayContaining([
      "helm package deploy/helm/switchyard --version 1.2.3 --app-version 1.2.3 --destination dist/release",
      "helm push dist/release/switchyard-1.2.3.tgz oci://registry.example.com/team/charts",
    ]),
  );
  expect(commands({ hasChart: false }).join("\n")).not.toContain("helm");
});

test("the package for applications is published from its folder, with provenance, when asked for", () => {
  const steps = releaseSteps(RELEASE);
  expect(steps.at(-1)).toMatchObject({
    command: ["npm", "publish", "--provenance", "--access", "public"],
    cwd: "dist/npm",
  });
  expect(commands({ publishesNpm: false }).join("\n")).not.toContain("publish");
});

test("what only development needs is not of the product", () => {
  const manifest = { name: "x", dependencies: { a: "1" }, devDependencies: { b: "1" } };
  const packages = {
    "": { name: "x", devDependencies: { b: "1" } },
    "node_modules/a": { version: "1" },
    "node_modules/b": { version: "1", dev: true },
  };
  expect(productionOnly(manifest, { packages })).toEqual({
    manifest: { name: "x", dependencies: { a: "1" } },
    lock: {
      packages: { "": { name: "x", devDependencies: {} }, "node_modules/a": { version: "1" } },
    },
  });
});
