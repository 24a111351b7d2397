/**
 * How many inputs a property generates: 1,000 while working (`npm run check`), 20,000 in
 * `npm test`, 100,000 in `npm run test:properties`. `property-setup.ts` makes it the default.
 */
export const GENERATED_INPUTS = Number(process.env.SWITCHYARD_GENERATED_INPUTS ?? 1_000);

/**
 * Of inputs that cost as much as `cost` cheap ones: so many fewer, in each.
 *
 * @param max where a hundred times as many as while working would take minutes.
 */
export function costlyInputs(cost: number, max = Number.POSITIVE_INFINITY): number {
  return Math.min(max, Math.ceil(GENERATED_INPUTS / cost));
}
