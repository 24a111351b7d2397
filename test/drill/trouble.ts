/** The two kinds of troubles, and what a drill of them is handed. */

import type { DestinationId } from "../../src/domain/ids.ts";
import type { Comparison } from "./comparison.ts";
import type { Expected } from "./expected.ts";
import type { Row } from "./judge.ts";
import type { Look } from "./look.ts";
import type { DestinationNeed, Product } from "./product.ts";

/** Of one destination. It has the trouble's name. Several of them are drilled side by side. */
export interface DestinationHealthProblem {
  readonly kind: "destination";
  readonly name: string;
  readonly summary: string;
  readonly need?: Omit<DestinationNeed, "id">;
  readonly make: (product: Product, id: DestinationId) => Promise<void>;
  readonly expected: Expected;
  /** Beside what is said of every destination. */
  readonly also?: (look: Look, id: DestinationId, madeAtMs: number) => readonly Comparison[];
  readonly mend: (product: Product, id: DestinationId) => Promise<void>;
}

/** Of the whole program, or of its cluster: it is drilled alone. */
export interface LoneHealthProblem {
  readonly kind: "alone";
  readonly name: string;
  readonly summary: string;
  readonly run: (options: DrillOptions) => Promise<readonly Row[]>;
}

export type HealthProblem = DestinationHealthProblem | LoneHealthProblem;

export interface DrillOptions {
  /** Of the Kafka that troubles share. */
  readonly brokers: readonly string[];
  /** How much longer than promised a signal may take, on a machine that is busy. */
  readonly patience: number;
  /** Looks that have to find all of it true, one after the other: signals may not waver. */
  readonly settledLooks: number;
  /** Told of each step. */
  readonly say: (line: string) => void;
  readonly hooks?: DrillHooks;
}

/** For those who look at the program themselves, while all is fine or a trouble has settled. */
export interface DrillHooks {
  readonly onFine?: (product: Product) => Promise<void>;
  /** @param names of the troubles that there are now. */
  readonly onHealthProblem?: (product: Product, names: readonly string[]) => Promise<void>;
  readonly onMended?: (product: Product, names: readonly string[]) => Promise<void>;
}
