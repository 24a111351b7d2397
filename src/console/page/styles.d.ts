/** The bundler gathers them into one style sheet. */
declare module "*.css";
