// Other people's code is used by its public interface: nothing in src reads or replaces what is private to Node or to
// a package. A search in the text cannot know whose an object is, so `this` counts as ours, and everything else does not.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";

import manifest from "../../../package.json" with { type: "json" };

const SRC = join(import.meta.dirname, "../../../src");

/** Files of packages that the packages offer to everyone, without an `exports` field that says so. */
const OFFERED = ["uplot/dist/uPlot.min.css"];

/** Names that properties of ours also have. */
const OURS = ["end", "isPaused", "take"];
/** The methods of streams, and some of sockets and clients. */
const METHODS = methodsOf(Duplex.prototype)
  .filter((name) => !OURS.includes(name))
  .concat("connect", "dispatch", "ref", "request", "setKeepAlive", "setTimeout", "unref")
  .join("|");
const PACKAGES = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).join("|");

const SEARCHES: Readonly<Record<string, RegExp>> = {
  "the cache of modules": /\brequire\.cache\b/,
  "a symbol of another object": /\bgetOwnPropertySymbols\b|\bReflect\.ownKeys\b/,
  "a path inside a package": new RegExp(
    `["'\`](?:${PACKAGES})/[^"'\`]+["'\`]|\\brequire\\((?!["'\`])`,
  ),
  "a property with _":
    /(?<!\b(?:this|super))(?:\.|(?<=[\w$)\]])\[["'`])_\w|[{,]\s*_\w+\s*[:,}=][^{};]*\}?\s*=[^=>]/,
  "an assigned method": new RegExp(
    `(?<!\\bthis)(?:\\.|\\?\\.|\\[["'\`])(?:(?:${METHODS})(?:["'\`]\\])?|prototype\\.\\w+)\\s*=[^=>]`,
  ),
};

function methodsOf(prototype: object): readonly string[] {
  const above: unknown = Object.getPrototypeOf(prototype);
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const names = own.filter(([, { value }]) => typeof value === "function").map(([name]) => name);
  return [...names, ...(above === null ? [] : methodsOf(above as object))];
}

/** Returns what is found, with the text. Comments do not count. */
function foundIn(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, "");
  return Object.entries(SEARCHES).flatMap(([what, pattern]) =>
    [...code.matchAll(new RegExp(pattern, "g"))]
      .map(([text]) => text)
      .filter((text) => !isOffered(text.slice(1, -1)))
      .map((text) => `${what}: ${text}`),
  );
}

/** Node itself refuses a path that the field `exports` of a package does not contain. */
function isOffered(path: string): boolean {
  if (OFFERED.includes(path)) return true;
  const name = path.split("/", path.startsWith("@") ? 2 : 1).join("/");
  if (!PACKAGES.split("|").includes(name)) return false;
  const file = join(SRC, "../node_modules", name, "package.json");
  return path === name || "exports" in (JSON.parse(readFileSync(file, "utf8")) as object);
}

test("src touches nobody else's private parts", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" });
  const found = files
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => [file, foundIn(readFileSync(join(SRC, file), "utf8"))] as const)
    .filter(([, places]) => places.length > 0);
  expect(files.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});

test.each([
  ["delete require.cache[path];", "the cache of modules"],
  ["Object.getOwnPropertySymbols(socket)", "a symbol of another object"],
  ['import Encoder from "kafkajs/src/protocol/encoder.js";', "a path inside a package"],
  ['await import("undici/lib/core/symbols.js")', "a path inside a package"],
  ["require(join(folder, file))", "a path inside a package"],
  ["socket._handle", "a property with _"],
  ["socket?.handle?._parent", "a property with _"],
  ['socket["_handle"]', "a property with _"],
  ["const { _handle: handle } = socket;", "a property with _"],
  ["socket.read = () => null;", "an assigned method"],
  ["socket.push = push;", "an assigned method"],
  ['client["dispatch"] = dispatch;', "an assigned method"],
  ["Original.prototype.authenticate = authenticate;", "an assigned method"],
])("%s: %s", (source, what) => {
  expect(foundIn(source).map((text) => text.split(":", 1)[0])).toEqual([what]);
});

test.each([
  'import { useState } from "preact/hooks";',
  "this._write(bytes);",
  "super._destroy(error, done);",
  "socket.read() === null",
  "this.read = read;",
  "const before = { _user: user };",
  "// socket._handle",
])("%s is fine", (source) => {
  expect(foundIn(source)).toEqual([]);
});
