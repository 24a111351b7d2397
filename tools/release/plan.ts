/**
 * Plans the steps of a release before any of them is run. Pure.
 *
 *   step        what                                              skipped
 *   image       built for both platforms with SBOM and            never
 *               provenance, pushed under its version
 *   sign        the pushed image, by its digest                   without cosign
 *   sbom        of the production dependencies, attached to it    attached only with cosign
 *               (npm omits packages that a development dependency also needs, so this runs in a folder
 *               without development dependencies)
 *   chart       packaged with the version, pushed, signed         without the chart's folder
 *   npm         the package for applications, with provenance     without --npm
 *
 * An image is signed by its digest, which is known only after the push: {DIGEST} is a placeholder for the digest.
 */

export interface Release {
  readonly version: string;
  /** The registry without a scheme, such as `registry.example.com/team`. */
  readonly registry: string;
  /** The commit, and its time in the format of RFC 3339. */
  readonly revision: string;
  readonly createdAt: string;
  /** `sha256:...` of the base image. */
  readonly baseDigest: string;
  readonly hasCosign: boolean;
  readonly hasChart: boolean;
  readonly publishesNpm: boolean;
  /** The address of the sources, for the image's labels; or null. */
  readonly source: string | null;
}

export interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** The file to which the output is written. */
  readonly to?: string;
  readonly cwd?: string;
}

export const OUT = "dist/release";
/** Folder for a manifest and a lock file without development dependencies. */
export const PRODUCTION = `${OUT}/production`;
const PLATFORMS = "linux/amd64,linux/arm64";
export const DIGEST = "{DIGEST}";

interface Locked {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly [field: string]: unknown }>
  >;
}

/** Removes development dependencies from a manifest and its lock file. */
export function productionOnly(
  manifest: Readonly<Record<string, unknown>>,
  lock: Locked,
): { readonly manifest: object; readonly lock: object } {
  const { devDependencies: _, scripts: __, ...kept } = manifest;
  const packages = Object.entries(lock.packages)
    .filter(([, { dev = false }]) => !dev)
    .map(([path, entry]) => [path, path === "" ? { ...entry, devDependencies: {} } : entry]);
  return { manifest: kept, lock: { ...lock, packages: Object.fromEntries(packages) } };
}

export function releaseSteps(release: Release): readonly Step[] {
  const { version, registry, hasCosign, hasChart, publishesNpm } = release;
  const image = `${registry}/switchyard`;
  const sbom = `${OUT}/switchyard-${version}.cdx.json`;
  return [
    { name: "bill of materials", command: sbomCommand(), cwd: PRODUCTION, to: sbom },
    { name: "image", command: buildCommand(release, image) },
    ...(hasCosign ? signing(`${image}@${DIGEST}`, sbom) : []),
    ...(hasChart ? chartSteps(release) : []),
    ...(publishesNpm ? npmSteps() : []),
  ];
}

function sbomCommand(): [string, ...string[]] {
  const what = ["--sbom-type", "application", "--sbom-format", "cyclonedx"];
  return ["npm", "sbom", "--package-lock-only", ...what];
}

function buildCommand(release: Release, image: string): [string, ...string[]] {
  const { version, revision, createdAt, baseDigest, source } = release;
  const labels = {
    version,
    revision,
    created: createdAt,
    "base.digest": baseDigest,
    ...(source === null ? {} : { source }),
  };
  return [
    ...(["docker", "buildx", "build", "--file", "deploy/Dockerfile"] as const),
    ...["--platform", PLATFORMS, "--build-arg", `BASE_DIGEST=@${baseDigest}`],
    ...Object.entries(labels).flatMap(([name, value]) => [
      "--label",
      `org.opencontainers.image.${name}=${value}`,
    ]),
    ...["--sbom=true", "--provenance=mode=max"],
    ...["--tag", `${image}:${version}`, "--push"],
    ...["--metadata-file", `${OUT}/image.json`, "."],
  ];
}

function signing(image: string, sbom: string): readonly Step[] {
  const attest = ["attest", "--yes", "--type", "cyclonedx", "--predicate", sbom];
  return [
    { name: "signature", command: ["cosign", "sign", "--yes", image] },
    { name: "attested bill of materials", command: ["cosign", ...attest, image] },
  ];
}

function chartSteps({ version, registry }: Release): readonly Step[] {
  const versions = ["--version", version, "--app-version", version];
  const pack = ["package", "deploy/helm/switchyard", ...versions, "--destination", OUT];
  const archive = `${OUT}/switchyard-${version}.tgz`;
  return [
    { name: "chart", command: ["helm", ...pack] },
    { name: "chart's push", command: ["helm", "push", archive, `oci://${registry}/charts`] },
  ];
}

function npmSteps(): readonly Step[] {
  const publish = ["publish", "--provenance", "--access", "public"];
  return [
    { name: "package for applications", command: ["npm", "run", "build"] },
    { name: "its publication", command: ["npm", ...publish], cwd: "dist/npm" },
  ];
}
