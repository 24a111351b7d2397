// An endpoint has the same name wherever it is shown.

import { expect, test } from "vitest";

import {
  endpointNames,
  endpointText,
  withEndpointNames,
} from "../../../src/domain/endpoint-name.ts";
import { endpointOf, webhookDestination } from "../../support/build/webhook-destination.ts";

const A = "https://user:secret@crm.example.com/hook/token?key=1";
const B = "http://10.1.2.3:8080/b";
const crm = webhookDestination({ id: "crm-hook", urls: [A, B] });
const names = endpointNames(crm);

test("it has the place, from 1, and the host with its port; never a secret of the URL", () => {
  expect([...names.values()]).toEqual(["crm-hook[1] crm.example.com", "crm-hook[2] 10.1.2.3:8080"]);
});

test("the key stands next to it, and alone for one that is no longer configured", () => {
  const { key } = endpointOf(B);
  expect(endpointText(names.get(key), key)).toBe(`crm-hook[2] 10.1.2.3:8080 (${key})`);
  expect(endpointText(undefined, key)).toBe(key);
});

test("outcomes in a sentence are said by name, those of unknown endpoints by key", () => {
  const sentence = `the last attempt: ${endpointOf(A).key}=503,0123456789abcdef=timeout`;
  expect(withEndpointNames(sentence, names)).toBe(
    "the last attempt: crm-hook[1] crm.example.com=503,0123456789abcdef=timeout",
  );
  expect(withEndpointNames(sentence, undefined)).toBe(sentence);
});
