import { hearingLimit } from "../../runtime/hearing-limit.ts";
import { errorSentence } from "./kafka-error.ts";

/** @throws Error when there is no answer within `limitMs`. */
export async function inTime<Result>(result: Promise<Result>, limitMs: number): Promise<Result> {
  using late = hearingLimit(limitMs);
  const { promise, reject } = Promise.withResolvers<never>();
  const over = new Error(`no answer within ${limitMs / 1_000} s`);
  late.signal.addEventListener("abort", () => reject(over));
  try {
    return await Promise.race([result, promise]);
  } catch (error) {
    throw error === over ? over : new Error(errorSentence(error), { cause: error });
  }
}
