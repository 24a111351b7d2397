/**
 * Prints events as they happen. Similar lines within a short time are combined, so that everything fits on a screen.
 */

import { counted } from "../../src/base/words/count.ts";
import { say, type Tone, tint } from "./show.ts";

const MOMENT_MS = 250;

export interface Story {
  /** Prints one line now, after the seconds since the start. */
  print(text: string, tone?: Tone): void;
  /** Combines lines with the same key within a short time into the line `text(count)`. */
  gather(key: string, text: (count: number) => string, tone?: Tone): void;
  /** Prints the lines that have been collected. */
  flush(): void;
}

interface Gathered {
  count: number;
  readonly text: (count: number) => string;
  readonly tone: Tone;
  readonly timer: NodeJS.Timeout;
}

export function createStory(): Story {
  const beganAt = performance.now();
  const gathered = new Map<string, Gathered>();
  const print = (text: string, tone: Tone = "plain") => {
    const seconds = ((performance.now() - beganAt) / 1_000).toFixed(1).padStart(6);
    say(`${tint(`${seconds} s`, "dim")}  ${tint(text, tone)}`);
  };
  const release = (key: string) => {
    const found = gathered.get(key);
    if (found === undefined) return;
    gathered.delete(key);
    clearTimeout(found.timer);
    print(found.text(found.count), found.tone);
  };
  return {
    print,
    gather: (key, text, tone = "plain") => {
      const found = gathered.get(key);
      if (found !== undefined) {
        found.count += 1;
        return;
      }
      const timer = setTimeout(() => release(key), MOMENT_MS);
      gathered.set(key, { count: 1, text, tone, timer });
    },
    flush: () => {
      for (const key of [...gathered.keys()]) release(key);
    },
  };
}

export function inTopicText(destination: string, count: number): string {
  return `${destination.padEnd(12)} ${counted(count, "call")} in its topic, for other consumers`;
}

interface Retry {
  readonly destination: string;
  readonly attempt: number;
  readonly seconds: number;
}

export function retryText({ destination, attempt, seconds }: Retry, count: number): string {
  const waits = count === 1 ? "it waits" : "they wait";
  const what = `attempt ${attempt}: 503 for ${counted(count, "call")}`;
  return `${destination.padEnd(12)} ${what}; ${waits} ${seconds} s in delays.${seconds}s`;
}
