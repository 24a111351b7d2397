/**
 * How many inputs a property test of a law generates when its inputs are cheap to check, such as
 * "parsing never throws": 1,000 while working (`npm run check`), 100,000 in `npm test`.
 */
export const GENERATED_INPUTS = Number(process.env.SWITCHYARD_GENERATED_INPUTS ?? 1_000);
