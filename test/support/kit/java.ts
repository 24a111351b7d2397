/** Java with Kafka's jars, for brokers that a test starts itself; null on a machine without them. */

import { chooseJava } from "../../../tools/kafka/choose.ts";

export const JAVA = await chooseJava(new AbortController().signal, () => undefined).catch(
  () => null,
);
