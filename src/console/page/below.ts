/**
 * Addresses below the path at which a proxy serves the console, such as `/switchyard/`. The server does
 * not see that path, so it is taken from the address of this very script: `PATH/assets/NAME.js`.
 */

const BASE = new URL("..", import.meta.url).pathname;

/** @param path as the server knows it, beginning with `/`. */
export function below(path: string): string {
  return `${BASE}${path.slice(1)}`;
}

/** The path as the server knows it. */
export function pathOf(pathname: string): string {
  return pathname.startsWith(BASE) ? pathname.slice(BASE.length - 1) : "/";
}

/** The browser looks the icon up again at each address that the page goes to. */
export function fixAddresses(): void {
  for (const link of document.querySelectorAll("link")) link.setAttribute("href", link.href);
}
