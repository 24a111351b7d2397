// Each name is the name of an error in kafkajs. A misspelled name would match nothing.

import { expect, test } from "vitest";

import { DRIVER_FATAL, DRIVER_OUTAGE } from "../../../../src/kafka/kafkajs/error-names.ts";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";

const errors = Object.keys(loadInternal("src/errors.js") as object);

test.each([...DRIVER_FATAL, ...DRIVER_OUTAGE])("%s", (name) => {
  expect(errors).toContain(name);
});
