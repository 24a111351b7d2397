/**
 * Formats a timeline as text and as JSON.
 *
 *   format   each line
 *   text     a step: its time, the time since the first step, its destination, a sentence; then the final state at each
 *            destination, and what is unknown
 *   --json   an object with the call's message ID: a step or a final state, in order of time, then each gap; `kind` shows
 *            which of these it is
 */

import { visibleCell } from "../../domain/escape-control.ts";
import type { Colors } from "../connect/shell.ts";
import { duration, finalStateText, gapSentence, instant, stepSentence } from "./sentences.ts";
import type { CallTimeline, TimelineStep } from "./steps.ts";

export function timelineText(trace: CallTimeline, { bold, red, green, dim }: Colors): string {
  const { steps, finalStates, gaps } = trace;
  const firstMs = steps[0]?.atMs ?? 0;
  const ids = [...steps.map(destinationOf), ...finalStates.map(({ destination }) => destination)];
  const width = Math.max(1, ...ids.map((id) => visibleCell(id).length));
  const cell = (id: string) => visibleCell(id).padEnd(width);
  const colour = (kind: string) => (kind === "dead-lettered" || kind === "unusable" ? red : plain);
  const lines = steps.map((step) => {
    const since = `+${duration(step.atMs - firstMs)}`.padStart(11);
    const words = colour(step.kind)(stepSentence(step));
    return `${dim(instant(step.atMs))} ${since}  ${bold(cell(destinationOf(step)))}  ${words}`;
  });
  const ends = finalStates.map((finalState) => {
    const paint = finalState.kind === "accepted" ? green : colour(finalState.kind);
    return `${bold(cell(finalState.destination))}  ${paint(finalStateText(finalState))}`;
  });
  const notes = gaps.map((gap) => gapSentence(gap, "--since"));
  const parts = [lines, ends, notes].filter((part) => part.length > 0);
  return `${parts.map((part) => part.join("\n")).join("\n\n")}\n`;
}

export function timelineJson({ messageId, steps, finalStates, gaps }: CallTimeline): string {
  const dated = [
    ...steps.map((step) => ({ ...step, sentence: stepSentence(step) })),
    ...finalStates.map((finalState) => ({
      ...finalState,
      kind: "final-state",
      finalState: finalState.kind,
      sentence: finalStateText(finalState),
    })),
  ].toSorted((one, other) => one.atMs - other.atMs);
  const all = [
    ...dated,
    ...gaps.map((gap) => ({
      ...gap,
      kind: "gap",
      gap: gap.kind,
      sentence: gapSentence(gap, "--since"),
    })),
  ];
  return all.map((each) => `${JSON.stringify(instants({ messageId, ...each }))}\n`).join("");
}

/**
 * Replaces fields such as `atMs` with fields such as `at` in ISO 8601, so that the times can be compared with those
 * in the output of other programs.
 */
function instants(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(instants);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isInstant = /^(?:at|dueAt|notBefore|receivedAt|since|suppressedAt)Ms$/.test(key);
      if (isInstant && typeof inner === "number") return [key.slice(0, -2), instant(inner)];
      return [isInstant ? key.slice(0, -2) : key, instants(inner)];
    }),
  );
}

function destinationOf(step: TimelineStep): string {
  return ("destination" in step ? step.destination : null) ?? "-";
}

function plain(text: string): string {
  return text;
}
