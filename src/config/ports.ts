/** The ports that the program opens by default. */

export const INGEST_PORT = 8_080;
export const ADMIN_PORT = 9_464;
export const CONSOLE_PORT = 9_465;
