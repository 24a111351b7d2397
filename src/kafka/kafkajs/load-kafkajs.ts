/**
 * Loads kafkajs with some of its modules replaced.
 *
 * kafkajs is no longer maintained, and its defects and slow parts are in internal modules. A replacement is put into
 * Node's require cache before kafkajs is loaded, so that `require` returns the replacement to kafkajs itself. This is
 * safe only with the exact version for which the replacements were written. With any other version, all replacements
 * are omitted, and `createKafka` throws.
 */

import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";

/** Returns the exports of an internal module, such as `src/protocol/encoder.js`. */
export type LoadInternal = (path: string) => unknown;

export interface Replacement {
  /** The name in the log line at startup. */
  readonly name: string;
  /** The module's path in the package. */
  readonly module: string;
  /**
   * Creates the module's exports: new ones, or the original exports from `load`, changed in place. Must not
   * load a module that a later replacement replaces.
   */
  readonly replace: (load: LoadInternal) => unknown;
}

interface LoadedKafkajs {
  readonly exports: unknown;
  readonly version: string;
  /** Names of the replacements in use; empty unless the version is the supported one. */
  readonly active: readonly string[];
  readonly load: LoadInternal;
}

/**
 * Loads a separate copy of kafkajs, even if kafkajs has been loaded before. kafkajs loads some modules only when they
 * are first used, and then gets the modules of the latest copy. So only one copy can be in use at a time; earlier
 * copies are only for comparison.
 */
export function loadKafkajs(
  supportedVersion: string,
  replacements: readonly Replacement[],
): LoadedKafkajs {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve("kafkajs/package.json");
  const folder = dirname(manifest);
  for (const path of Object.keys(require.cache)) {
    if (path.startsWith(folder + sep)) delete require.cache[path];
  }
  const load: LoadInternal = (path) => require(join(folder, path));
  const { version } = require(manifest) as { readonly version: string };
  const wanted = version === supportedVersion ? replacements : [];
  for (const { name, module, replace } of wanted) {
    const filename = require.resolve(join(folder, module));
    if (require.cache[filename] !== undefined) {
      throw new Error(
        `The kafkajs replacement "${name}" is too late: ${module} is already loaded. Move it up in the list.`,
      );
    }
    const exports = replace(load);
    require.cache[filename] = Object.assign(Object.create(null) as NodeJS.Module, {
      id: filename,
      filename,
      loaded: true,
      children: [],
      paths: [],
      path: dirname(filename),
      exports,
    });
  }
  const active = [...new Set(wanted.map(({ name }) => name))];
  return { exports: load("index.js"), version, active, load };
}
