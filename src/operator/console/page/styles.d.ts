/** Allows style sheets to be imported. The bundler combines them into one. */
declare module "*.css";
