// docs/openapi.yaml, docs/http-apis.md and docs/ingest.md say what the code does.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { CALL_TYPES } from "../../../src/domain/call.ts";
import {
  BEACON_PATH,
  CALL_PATHS,
  HEALTH_PATHS,
  REJECTED_PATHS,
  SOURCE_CONFIG_PATH,
} from "../../../src/router/ingest/paths.ts";
import { ANSWERS } from "../../../src/router/ingest/responses.ts";
import { finalStateTable } from "../../support/servers/client-final-states.ts";

interface OperatorAction {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly requestBody: {
    readonly content: Readonly<Record<string, { schema: { $ref: string } }>>;
  };
}

const docs = (name: string) =>
  readFileSync(join(import.meta.dirname, "../../../docs", name), "utf8");
const openapi = parse(docs("openapi.yaml"), { merge: true });
const paths: Readonly<Record<string, Readonly<Record<string, OperatorAction>>>> = openapi.paths;
const page = docs("ingest.md");

test("the document has the paths and methods of the code", () => {
  expect(openapi.openapi).toBe("3.1.0");
  const posted = [...CALL_PATHS.keys(), BEACON_PATH, ...REJECTED_PATHS.keys()];
  const templates = ["/pixel/v1/{type}", "/v1/projects/{writeKey}/settings"];
  const got = [...HEALTH_PATHS, SOURCE_CONFIG_PATH, ...templates];
  const admin = ["/metrics", "/status", "/readyz", "/livez", "/-/reload"];
  expect(Object.keys(paths).toSorted()).toEqual([...posted, ...got, ...admin].toSorted());
  for (const path of posted) expect(Object.keys(paths[path] ?? {})).toEqual(["post"]);
  for (const path of got) expect(Object.keys(paths[path] ?? {})).toEqual(["get"]);
});

test("each path takes a batch or a call, as in the code", () => {
  for (const [path, type] of CALL_PATHS) {
    const schema = paths[path]?.post?.requestBody.content["application/json"]?.schema.$ref;
    // What a page or a screen requires is the same as for an identify.
    const name = (type ?? "batch").replace(/page|screen/, "identify");
    expect(schema?.toLowerCase()).toBe(`#/components/schemas/${name}`);
  }
  expect(openapi.components.schemas.Call.properties.type.enum).toEqual([...CALL_TYPES]);
});

test("the codes are those of the code, and so are their statuses", () => {
  expect(openapi.components.schemas.Error.properties.code.enum).toEqual(Object.keys(ANSWERS));
  // A path that is not there, and another method, have no place in the document.
  const statuses = new Set(Object.values(ANSWERS).map(({ status }) => `${status}`));
  for (const status of ["404", "405"]) statuses.delete(status);
  for (const path of CALL_PATHS.keys()) {
    expect(new Set(Object.keys(paths[path]?.post?.responses ?? {}))).toEqual(
      new Set([...statuses, "200"]),
    );
  }
});

test("every reference leads somewhere", () => {
  const references = docs("openapi.yaml").matchAll(/\$ref: "#\/([^"]+)"/g);
  for (const [, reference = ""] of references) {
    const found = reference
      .split("/")
      .reduce((node: unknown, key) => (node as Record<string, unknown>)[key], openapi);
    expect(found, reference).toBeDefined();
  }
});

test("the reference lists every code with its status", () => {
  const listed = [...docs("http-apis.md").matchAll(/^\| (\d{3}) \| `([a-z-]+)` \|/gm)].map(
    ([, status, code]) => [code, Number(status)],
  );
  const known = Object.entries(ANSWERS).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(known));
});

test("the page has the table of what becomes of calls that fail", () => {
  expect(page).toContain(finalStateTable());
});
