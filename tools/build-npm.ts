/** `npm run build`: writes the package for applications, `switchyard`, to dist/npm/. */

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "./steps.ts";

const OUT = join(ROOT, "dist", "npm");

interface RootPackage {
  readonly version: string;
  readonly license: string;
}

const { version, license } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
) as RootPackage;

const manifest = {
  name: "switchyard",
  version,
  description: "Sends customer data calls to Switchyard, and checks the webhooks it delivers",
  keywords: ["analytics", "customer data", "segment", "webhooks", "kafka"],
  license,
  type: "module",
  engines: { node: ">=20" },
  sideEffects: false,
  exports: {
    "./client": entry("client"),
    "./webhooks": entry("webhooks"),
    "./package.json": "./package.json",
  },
  files: ["client", "webhooks", "cjs"],
};

/**
 * As ES module and as CommonJS. Compilers that know no `exports` (`node10`) find the folder of this
 * name, with its `index.d.ts`.
 */
function entry(name: string) {
  const at = (folder: string) => ({
    types: `${folder}/index.d.ts`,
    default: `${folder}/index.js`,
  });
  return { import: at(`./${name}`), require: at(`./cjs/${name}`) };
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
for (const project of ["tsconfig.build.json", "tsconfig.build-cjs.json"]) {
  const options = { cwd: ROOT, stdio: "inherit" } as const;
  const { status } = spawnSync(process.execPath, [compiler, "-p", project], options);
  if (status !== 0) process.exit(1);
}
writeFileSync(join(OUT, "cjs", "package.json"), '{ "type": "commonjs" }\n');
writeFileSync(join(OUT, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
// The compiler rewrites the imports of .js files only.
for (const file of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".d.ts")) continue;
  const types = readFileSync(join(OUT, file), "utf8");
  writeFileSync(join(OUT, file), types.replace(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
}
copyFileSync(join(ROOT, "docs", "npm-readme.md"), join(OUT, "README.md"));
copyFileSync(join(ROOT, "LICENSE"), join(OUT, "LICENSE"));
process.stdout.write(`built switchyard ${version} in dist/npm\n`);
