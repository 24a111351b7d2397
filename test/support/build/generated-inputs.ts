/**
 * How many inputs a property generates: 1,000 in `npm run check`, 5,000 in `npm test`, 100,000 in `npm run
 * test:properties`. `property-setup.ts` sets this as the default.
 */
export const GENERATED_INPUTS = Number(process.env.SWITCHYARD_GENERATED_INPUTS ?? 1_000);

/**
 * The number of inputs if each one costs as much as `cost` cheap ones: the default, divided by `cost`.
 *
 * @param max for properties that would take minutes with 100,000 inputs.
 */
export function costlyInputs(cost: number, max = Number.POSITIVE_INFINITY): number {
  return Math.min(max, Math.ceil(GENERATED_INPUTS / cost));
}
