/** Allows style sheets to be imported. The bundler combines them into one. */
declare module "*.css";
/** Some types that the page imports name Node's buffers. The page has none. */
type Buffer = Uint8Array;
