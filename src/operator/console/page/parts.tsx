/** Small components that the views share. */

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";

import type { HealthProblem } from "../../look/status-report.ts";
import { callLink, destinationLink } from "./address.ts";
import { agoText, dueText, localTime, type StateText, type Tone, utcTime } from "./format.ts";
import { Link, setQuery } from "./router.tsx";
import type { QueryState } from "./server.ts";

/** The current time, updated every second. */
export const Now = createContext(0);

export function useNow(): number {
  return useContext(Now);
}

interface TimeProps {
  readonly at: string | null;
}

export function None() {
  return <span class="quiet">–</span>;
}

/** Shows a time in the user's time zone. UTC is shown on hover. */
export function Time({ at }: TimeProps) {
  const now = useNow();
  if (at === null) return <None />;
  return (
    <time dateTime={at} title={utcTime(at)}>
      {localTime(at, now)}
    </time>
  );
}

/** Shows a relative time. The exact time is shown on hover. */
export function Age({ at }: TimeProps) {
  const now = useNow();
  if (at === null) return <None />;
  const text = Date.parse(at) > now ? dueText(at, now) : agoText(at, now);
  return (
    <time dateTime={at} title={`${localTime(at, now)}, ${utcTime(at)}`}>
      {text}
    </time>
  );
}

const INSTANT = /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z)/;

/** Shows a sentence. Instants in it are formatted like all other times. */
export function Sentence({ text }: { readonly text: string }) {
  // The parts with odd indexes are the instants that the pattern matched.
  const parts = text.split(INSTANT);
  return (
    <>
      {parts.map((part, index) => {
        const isInstant = index % 2 === 1 && !Number.isNaN(Date.parse(part));
        return isInstant ? <Time key={`${index} ${part}`} at={part} /> : part;
      })}
    </>
  );
}

const SIGNS: Readonly<Record<Tone, string>> = { good: "●", bad: "▲", warn: "◆", quiet: "○" };

/** Shows a state, never by color alone. */
export function State({ tone, text, role }: StateText & { readonly role?: "status" }) {
  return (
    <span class={`state ${tone}`} role={role}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {text}
    </span>
  );
}

export function DestinationLink({ id }: { readonly id: string }) {
  return <Link to={destinationLink(id)}>{id}</Link>;
}

export function CallLink({ messageId }: { readonly messageId: string }) {
  return (
    <Link to={callLink(messageId)}>
      <code>{messageId}</code>
    </Link>
  );
}

export function HealthProblems({ problems }: { readonly problems: readonly HealthProblem[] }) {
  if (problems.length === 0) {
    return (
      <p class="notice good" role="status">
        <span aria-hidden="true">●</span> No problems.
      </p>
    );
  }
  return (
    <div role="status">
      <ul class="notices">
        {problems.map(({ level, text, link }) => (
          <li key={text} class={`notice ${level}`}>
            <span aria-hidden="true">{SIGNS[level]}</span>{" "}
            <span class="hidden">{level === "bad" ? "Problem: " : "Warning: "}</span>
            {link === null ? text : <Link to={link}>{text}</Link>}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Shows the title of a view, and the elements next to the title. */
export function Head({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <header class="head flex">
      <h1>{title}</h1>
      {children}
    </header>
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
    <section class="panel card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** A group of buttons, one of which is pressed. The address names the pressed button. */
export function Choice({
  legend,
  name,
  values,
  chosen,
}: {
  readonly legend: string;
  /** The name of the parameter in the address. */
  readonly name: string;
  readonly values: readonly string[];
  readonly chosen: string;
}) {
  return (
    <fieldset class="choice flex">
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

/** A button that repeats a query, and shows whether the query is in progress. */
export function Refresh({
  query: { isLoading, reload },
  reading = "Reading",
}: {
  readonly query: QueryState<unknown>;
  readonly reading?: string;
}) {
  return (
    <>
      <button type="button" onClick={reload}>
        Refresh
      </button>
      <span role="status">{isLoading ? reading : ""}</span>
    </>
  );
}

/** Shows the result of a query, or the reason why it failed. */
export function Result<Data>({
  query: { data, error, isLoading },
  children,
}: {
  readonly query: QueryState<Data>;
  readonly children: (data: Data) => ComponentChildren;
}) {
  return (
    <>
      <Problem text={error} />
      {data === null && isLoading ? <Loading /> : null}
      {data === null ? null : children(data)}
    </>
  );
}

/** A placeholder for a view, or for a part of a view, until its data arrives. */
export function Loading({ rows = 4 }: { readonly rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        <i key={row} aria-hidden="true" />
      ))}
    </div>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** @param text null if there is no problem. */
export function Problem({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p class="notice bad" role="alert">
      <span aria-hidden="true">▲</span> {text}
    </p>
  );
}

export function ReadOnly({ commands }: { readonly commands: string }) {
  return (
    <p class="note">
      This console is read-only (<code>console.readOnly</code>). Commands: switchyard {commands}
    </p>
  );
}
