/** The changes that a file would make, shown before the file is put in place. */

import { useState } from "preact/hooks";

import type { ChangesView } from "../query-view.ts";
import { Panel, Problem } from "./parts.tsx";
import { ask } from "./server.ts";

export function Comparing() {
  const [content, setContent] = useState("");
  const [view, setView] = useState<ChangesView | null>(null);
  const [error, setError] = useState<string | null>(null);
  const show = (problem: unknown) => {
    setError(problem instanceof Error ? problem.message : String(problem));
  };
  const compare = (event: SubmitEvent) => {
    event.preventDefault();
    setError(null);
    setView(null);
    ask("/api/changes", content).then((told) => setView(told as ChangesView), show);
  };
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    const [file] = currentTarget.files ?? [];
    file?.text().then(setContent, show);
  };
  return (
    <Panel title="What a file would change">
      <form class="comparing" onSubmit={compare}>
        <p class="beside">
          It is compared with the configuration in place, and nothing is applied. No value is shown.
          Of files that it names, only those are read that the configuration in place names, too.
        </p>
        <label>
          <span>A file</span> <input type="file" accept=".yaml,.yml,text/yaml" onChange={choose} />
        </label>
        <label>
          <span>or its text</span>
          <textarea
            rows={8}
            spellcheck={false}
            value={content}
            onInput={({ currentTarget }) => setContent(currentTarget.value)}
          />
        </label>
        <button type="submit">Compare</button>
      </form>
      <div role="status">
        {error === null ? null : <Problem text={error} />}
        {view === null ? null : <Told view={view} />}
      </div>
    </Panel>
  );
}

function Told({ view }: { readonly view: ChangesView }) {
  if (view.kind === "unusable") {
    return (
      <>
        <Problem text="This file cannot be used: a reload would refuse it." />
        <ul class="waits">
          {view.problems.map(({ where, line, text }) => (
            <li key={`${where} ${line} ${text}`}>
              <b>{where}</b>
              {line === null ? "" : ` (line ${line})`}: {text}
            </li>
          ))}
        </ul>
      </>
    );
  }
  if (view.isSame) return <p>A reload of it would change nothing.</p>;
  return (
    <>
      <p>
        The configuration <code>{view.hash}</code> would be taken over by a reload:
      </p>
      {view.atOnce.length === 0 ? <p>Nothing of it changes at once.</p> : null}
      {view.atOnce.map(({ title, lines }) => (
        <Lines key={title} title={title} lines={lines} />
      ))}
      {view.needsRestart.length === 0 ? null : (
        <Lines title="Only after a restart" lines={view.needsRestart} />
      )}
    </>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  return (
    <>
      <h3>{title}</h3>
      <ul class="waits">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </>
  );
}
