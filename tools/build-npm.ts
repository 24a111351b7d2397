/**
 * `npm run build`: writes the package for applications, `switchyard-sdk`, to dist/npm/.
 * SWITCHYARD_REPOSITORY_URL is the address of the project. Without it, the package cannot be published.
 */

import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
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
// A compiler that does not support `exports` looks for `client/` at the top of the package.
for (const folder of [OUT, join(OUT, "cjs")]) {
  for (const entry of readdirSync(join(folder, "sdk"))) {
    renameSync(join(folder, "sdk", entry), join(folder, entry));
  }
  rmSync(join(folder, "sdk"), { recursive: true });
}
for (const file of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
  if (!/\.(?:js|d\.ts)$/.test(file)) continue;
  const source = readFileSync(join(OUT, file), "utf8").replaceAll('"../../domain/', '"../domain/');
  // The compiler rewrites only the imports of .js files.
  const isTypes = file.endsWith(".d.ts");
  const written = isTypes ? source.replace(/(from "\.[^"]*)\.ts"/g, '$1.js"') : source;
  writeFileSync(join(OUT, file), written);
}
copyFileSync(join(ROOT, "docs", "npm-readme.md"), join(OUT, "README.md"));
copyFileSync(join(ROOT, "LICENSE"), join(OUT, "LICENSE"));
process.stdout.write(`built switchyard ${version} in dist/npm\n`);
