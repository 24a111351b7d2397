import { errorSentence } from "./kafka-error.ts";

/** @throws Error when there is no answer within `limitMs`. */
export async function inTime<Answer>(answer: Promise<Answer>, limitMs: number): Promise<Answer> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = new Error(`no answer within ${limitMs / 1_000} s`);
  const limit = setTimeout(() => reject(late), limitMs);
  try {
    return await Promise.race([answer, promise]);
  } catch (error) {
    throw error === late ? late : new Error(errorSentence(error), { cause: error });
  } finally {
    clearTimeout(limit);
  }
}
