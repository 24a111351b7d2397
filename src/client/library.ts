/** The maker that calls name in `context.library`; a test compares it with package.json. */

export const LIBRARY = { name: "switchyard", version: "0.1.0" } as const;
