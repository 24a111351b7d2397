/** Gets the jars of a Java program of the tests, which its `pom.xml` lists, with Maven, once per machine. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ensureDownloaded, runMaven } from "../../../tools/kafka/download.ts";
import { findJava, findOnPath } from "../../../tools/kafka/java-home.ts";

export type JavaProgram =
  /** `java`, and the arguments that come before the program's own. */
  | { readonly kind: "program"; readonly java: string; readonly args: readonly string[] }
  | { readonly kind: "none"; readonly why: string };

interface JavaSource {
  /** Directory of the program and its `pom.xml`. */
  readonly folder: string;
  /** A source file, which Java runs directly. */
  readonly main: string;
  /** A description of the jars, for messages. */
  readonly what: string;
  readonly size: string;
}

export async function prepareJava(
  { folder, main, what, size }: JavaSource,
  signal: AbortSignal,
): Promise<JavaProgram> {
  const java = findJava();
  if ("problem" in java) return { kind: "none", why: `there is no Java: ${java.problem}` };
  if (findOnPath("mvn") === null) return { kind: "none", why: "there is no Maven" };
  const pom = join(folder, "pom.xml");
  const hash = createHash("sha256").update(readFileSync(pom)).digest("hex").slice(0, 8);
  const fill = async (target: string) => {
    const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies";
    const options = [`-DoutputDirectory=${target}`, "-DincludeScope=runtime"];
    await runMaven(what, ["--file", pom, goal, ...options], signal, () => undefined);
  };
  const name = `${main.replace(/(?<!^)[A-Z]/g, "-$&").toLowerCase()}-${hash}`;
  try {
    const jars = await ensureDownloaded({ what, size, name, fill }, signal, () => undefined);
    const args = ["-cp", join(jars, "*"), join(folder, `${main}.java`)];
    return { kind: "program", java: java.path, args };
  } catch (error) {
    const [line] = (error as Error).message.split("\n", 1);
    return { kind: "none", why: `there is no ${what}: ${line}` };
  }
}
