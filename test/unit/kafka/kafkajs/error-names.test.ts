// Each name is that of an error which kafkajs has: a misspelt one would match nothing.

import { expect, test } from "vitest";

import { DRIVER_FATAL, DRIVER_OUTAGE } from "../../../../src/kafka/kafkajs/error-names.ts";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";

const errors = Object.keys(loadInternal("src/errors.js") as object);

test.each([...DRIVER_FATAL, ...DRIVER_OUTAGE])("%s", (name) => {
  expect(errors).toContain(name);
});
