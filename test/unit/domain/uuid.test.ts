import { expect, test } from "vitest";

import { uuidV5 } from "../../../src/domain/uuid.ts";

const DNS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
const URL = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";

test.each([
  ["RFC 9562, A.4", DNS, "www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2"],
  ["Python's uuid", DNS, "python.org", "886313e1-3b8a-5372-9b90-0c9aee199e5d"],
  ["Python's uuid, no name", DNS, "", "4ebd0208-8328-5d69-8c44-ec50939c0967"],
  ["Python's uuid, UTF-8", URL, "žluťoučký 🐎", "f4413c84-f07f-5578-9afd-da34cd462a48"],
])("gives the id of %s", (_from, namespace, name, id) => {
  expect(uuidV5(namespace, name)).toBe(id);
});

test("takes a namespace in upper case", () => {
  expect(uuidV5(DNS.toUpperCase(), "a")).toBe(uuidV5(DNS, "a"));
});

test.each(["", "dns", `${DNS}0`, DNS.replaceAll("-", "")])("rejects the namespace %j", (text) => {
  expect(() => uuidV5(text, "a")).toThrow(TypeError);
});
