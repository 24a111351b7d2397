/**
 * `npm run build`: writes the package for applications, `switchyard`, to dist/npm/.
 * SWITCHYARD_REPOSITORY_URL is where the project can be found; without it, npm does not publish it.
 */

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { npmManifest, type RootPackage } from "./npm-manifest.ts";
import { ROOT } from "./steps.ts";

const OUT = join(ROOT, "dist", "npm");

const { version, license } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
) as RootPackage;
const manifest = npmManifest({ version, license }, process.env.SWITCHYARD_REPOSITORY_URL);

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
