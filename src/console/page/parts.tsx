/** Small parts that the views share. */

import type { ComponentChildren } from "preact";

import type { Trouble } from "../view.ts";
import { agoText, dueText, localTime, type StateWords, type Tone, utcTime } from "./format.ts";
import { Link, setQuery } from "./router.tsx";

/** A time in the zone of the reader; UTC is beside it. */
export function Time({ at, now }: { readonly at: string; readonly now: number }) {
  return (
    <time dateTime={at} class="time">
      {localTime(at, now)} <small>{utcTime(at)}</small>
    </time>
  );
}

const INSTANT = /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z)/;

/** A sentence whose instants are read as other times of the page are. */
export function Sentence({ text, now }: { readonly text: string; readonly now: number }) {
  // The instants that the pattern matched are at the odd places.
  const parts = text.split(INSTANT);
  return (
    <>
      {parts.map((part, index) => {
        const isInstant = index % 2 === 1 && !Number.isNaN(Date.parse(part));
        return isInstant ? <Time key={`${index} ${part}`} at={part} now={now} /> : part;
      })}
    </>
  );
}

/** A time, or a dash where there is none. */
export function TimeOrNone({ at, now }: { readonly at: string | null; readonly now: number }) {
  return at === null ? <span class="none">–</span> : <Time at={at} now={now} />;
}

/** How long ago, or how soon; the time itself when one points at it. */
export function Age({ at, now }: { readonly at: string | null; readonly now: number }) {
  if (at === null) return <span class="none">–</span>;
  const text = Date.parse(at) > now ? dueText(at, now) : agoText(at, now);
  return (
    <time dateTime={at} title={`${localTime(at, now)}, ${utcTime(at)}`}>
      {text}
    </time>
  );
}

const SIGNS: Readonly<Record<Tone, string>> = { good: "●", bad: "▲", warn: "◆", quiet: "○" };

/** Colour is never the only thing that says it. */
export function State({ tone, word }: StateWords) {
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {word}
    </span>
  );
}

export function Troubles({ troubles }: { readonly troubles: readonly Trouble[] }) {
  if (troubles.length === 0) {
    return (
      <p class="calm" role="status">
        <span aria-hidden="true">●</span> Nothing is in trouble.
      </p>
    );
  }
  return (
    <div role="status">
      <ul class="troubles">
        {troubles.map(({ level, text, link }) => (
          <li key={text} class={level}>
            <span aria-hidden="true">{SIGNS[level]}</span>
            <span class="hidden">{level === "bad" ? "Trouble: " : "Note: "}</span>
            {link === null ? text : <Link to={link}>{text}</Link>}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Panel({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const id = `panel-${title.toLowerCase().replaceAll(/\W+/g, "-")}`;
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** A number that stands for itself. */
export function Figure({
  label,
  value,
  unit = "",
  tone = "quiet",
  note,
}: {
  readonly label: string;
  readonly value: string;
  readonly unit?: string;
  readonly tone?: Tone;
  readonly note?: ComponentChildren;
}) {
  return (
    <div class={`figure ${tone}`}>
      <dt>{label}</dt>
      <dd>
        <b>{value}</b> <span>{unit}</span>
        {note === undefined ? null : <p>{note}</p>}
      </dd>
    </div>
  );
}

/** Buttons of which one is pressed; the address keeps which. */
export function Choice({
  legend,
  name,
  values,
  chosen,
}: {
  readonly legend: string;
  /** In the address. */
  readonly name: string;
  readonly values: readonly string[];
  readonly chosen: string;
}) {
  return (
    <fieldset class="times">
      <legend>{legend}</legend>
      {values.map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen === value}
          onClick={() => setQuery({ [name]: value })}
        >
          {value}
        </button>
      ))}
    </fieldset>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      <span aria-hidden="true">▲</span> {text}
    </p>
  );
}

/** A table that may be wider than the page. The keyboard can scroll it, and says what it is. */
export function Scroll({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard.
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
