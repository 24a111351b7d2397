import type { Shell } from "./shell.ts";

/** A text for people, or one line for programs. */
export function tell(
  { json }: { readonly json?: boolean },
  shell: Pick<Shell, "out">,
  text: string,
  outcome: Readonly<Record<string, unknown>>,
): void {
  shell.out(json === true ? `${JSON.stringify(outcome)}\n` : text);
}
