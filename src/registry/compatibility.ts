/** Of our subjects: a new schema reads all that any former one wrote. */
export const COMPATIBILITY = "BACKWARD_TRANSITIVE";
