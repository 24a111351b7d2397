import { expect, test } from "vitest";

import { npmManifest } from "../../../tools/npm-manifest.ts";

const ROOT = { version: "1.2.3", license: "Apache-2.0" };

test.each([
  "https://git.example.com/acme/switchyard",
  "https://git.example.com/acme/switchyard/",
  "https://git.example.com/acme/switchyard.git",
])("with the address %s it says where the project is", (url) => {
  expect(npmManifest(ROOT, url)).toMatchObject({
    version: "1.2.3",
    license: "Apache-2.0",
    homepage: "https://git.example.com/acme/switchyard#readme",
    repository: { type: "git", url: "git+https://git.example.com/acme/switchyard.git" },
    bugs: { url: "https://git.example.com/acme/switchyard/issues" },
  });
  expect(npmManifest(ROOT, url)).not.toHaveProperty("scripts");
});

test.each([undefined, ""])(
  "without one (%j) no address is made up, and publishing is rejected",
  (url) => {
    const manifest = npmManifest(ROOT, url);
    for (const key of ["homepage", "repository", "bugs"]) expect(manifest).not.toHaveProperty(key);
    expect(JSON.stringify(manifest)).toContain("SWITCHYARD_REPOSITORY_URL=https://HOST/OWNER/");
  },
);

test.each(["git.example.com/acme", "http://git.example.com/acme/x", "https://h/x?tab=1"])(
  "%s is no address",
  (url) => {
    expect(() => npmManifest(ROOT, url)).toThrow("SWITCHYARD_REPOSITORY_URL is");
  },
);
