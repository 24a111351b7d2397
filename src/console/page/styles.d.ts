/** The bundler combines imported styles into one style sheet. */
declare module "*.css";
