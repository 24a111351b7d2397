/** The two kinds of problems, and the arguments of their drills. */

import type { DestinationId } from "../../src/domain/ids.ts";
import type { Comparison } from "./comparison.ts";
import type { Expected } from "./expected.ts";
import type { Row } from "./judge.ts";
import type { Look } from "./look.ts";
import type { DestinationNeed, Product } from "./product.ts";

/** A problem of one destination, which has the problem's name. Several of these problems are drilled concurrently. */
export interface DestinationHealthProblem {
  readonly kind: "destination";
  readonly name: string;
  readonly summary: string;
  readonly need?: Omit<DestinationNeed, "id">;
  readonly make: (product: Product, id: DestinationId) => Promise<void>;
  readonly expected: Expected;
  /** Signals in addition to those of every destination. */
  readonly also?: (look: Look, id: DestinationId, madeAtMs: number) => readonly Comparison[];
  readonly mend: (product: Product, id: DestinationId) => Promise<void>;
}

/** A problem of the whole program or of its cluster, which is drilled alone. */
export interface LoneHealthProblem {
  readonly kind: "alone";
  readonly name: string;
  readonly summary: string;
  readonly run: (options: DrillOptions) => Promise<readonly Row[]>;
}

export type HealthProblem = DestinationHealthProblem | LoneHealthProblem;

export interface DrillOptions {
  /** The brokers of the Kafka cluster that problems share. */
  readonly brokers: readonly string[];
  /** The factor by which a signal may take longer than promised, on a busy machine. */
  readonly patience: number;
  /** Number of consecutive checks in which all signals must be correct, so that they do not change back. */
  readonly settledLooks: number;
  /** Called for each step. */
  readonly say: (line: string) => void;
  readonly hooks?: DrillHooks;
}

/** Hooks for callers that check the program themselves, while there is no problem or after all signals have settled. */
export interface DrillHooks {
  readonly onFine?: (product: Product) => Promise<void>;
  /** @param names the names of the current problems. */
  readonly onHealthProblem?: (product: Product, names: readonly string[]) => Promise<void>;
  readonly onMended?: (product: Product, names: readonly string[]) => Promise<void>;
}
