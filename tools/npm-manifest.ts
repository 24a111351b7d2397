/**
 * Creates the manifest of the package for applications. Pure.
 *
 *   the project's address   the manifest
 *   given                   contains it: repository, homepage, bugs
 *   not given               can be packed and installed; publishing fails with the reason
 */

export interface RootPackage {
  readonly version: string;
  readonly license: string;
}

const REFUSAL =
  "SWITCHYARD_REPOSITORY_URL was not set when this package was built, so it cannot be published. Build it with SWITCHYARD_REPOSITORY_URL=https://HOST/OWNER/switchyard npm run build";

/** @throws Error unless the address is an https URL without a query. */
export function npmManifest({ version, license }: RootPackage, repositoryUrl?: string): object {
  return {
    name: "switchyard-sdk",
    version,
    description: "Sends customer data calls to Switchyard, and checks the webhooks it delivers",
    keywords: ["analytics", "customer data", "segment", "webhooks", "kafka"],
    license,
    ...(repositoryUrl ? addressed(repositoryUrl) : unpublishable()),
    type: "module",
    engines: { node: ">=20" },
    sideEffects: false,
    exports: {
      "./client": entry("client"),
      "./webhooks": entry("webhooks"),
      "./package.json": "./package.json",
    },
    files: ["client", "webhooks", "domain", "cjs"],
  };
}

function addressed(repositoryUrl: string): object {
  const url = URL.canParse(repositoryUrl) ? new URL(repositoryUrl) : null;
  if (url === null || url.protocol !== "https:" || url.search !== "" || url.hash !== "") {
    throw new Error(
      `SWITCHYARD_REPOSITORY_URL is ${JSON.stringify(repositoryUrl)}; expected an address such as https://HOST/OWNER/switchyard`,
    );
  }
  const address = url.href.replace(/(?:\.git)?\/*$/, "");
  return {
    homepage: `${address}#readme`,
    repository: { type: "git", url: `git+${address}.git` },
    bugs: { url: `${address}/issues` },
  };
}

function unpublishable(): object {
  const script = `console.error(${JSON.stringify(REFUSAL)}); process.exit(1)`;
  return { scripts: { prepublishOnly: `node --eval '${script}'` } };
}

/**
 * Exports an ES module and CommonJS. Compilers that do not support `exports` (`node10`) find the folder with this
 * name, with its `index.d.ts`.
 */
function entry(name: string) {
  const at = (folder: string) => ({
    types: `${folder}/index.d.ts`,
    default: `${folder}/index.js`,
  });
  return { import: at(`./${name}`), require: at(`./cjs/${name}`) };
}
