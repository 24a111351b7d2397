import type { Shell } from "./shell.ts";

/** Prints either text or one line of JSON. */
export function tell(
  { json }: { readonly json?: boolean },
  shell: Pick<Shell, "out">,
  text: string,
  outcome: Readonly<Record<string, unknown>>,
): void {
  shell.out(json === true ? `${JSON.stringify(outcome)}\n` : text);
}
