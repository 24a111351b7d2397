/** Audiences: members, last syncs, and what is held. */

import type { AudienceView } from "../view.ts";
import { Empty, Panel, Problem, Scroll, State, Time } from "./parts.tsx";
import { useAnswer } from "./server.ts";
import { countText } from "./words.ts";

export function Audiences({ now }: { readonly now: number }) {
  const { answer, error, isAsking, again } = useAnswer<readonly AudienceView[]>("/api/audiences");
  return (
    <>
      <header class="head">
        <h1>Audiences</h1>
        <button type="button" onClick={again}>
          Read again
        </button>
        <p role="status">{isAsking ? "Reading" : ""}</p>
      </header>
      {error === null ? null : <Problem text={error} />}
      {answer
        ?.filter(({ held }) => held !== null)
        .map((each) => (
          <Held key={each.id} audience={each} />
        ))}
      {answer === null ? null : <List audiences={answer} now={now} />}
    </>
  );
}

function Held({ audience: { id, held } }: { readonly audience: AudienceView }) {
  if (held === null) return null;
  return (
    <Problem
      text={`${id}: the sync ${held.syncId} is held, because ${held.removals.toLocaleString("en")} members would leave. If that is right: switchyard audience release ${id}`}
    />
  );
}

function List({
  audiences,
  now,
}: {
  readonly audiences: readonly AudienceView[];
  readonly now: number;
}) {
  if (audiences.length === 0) return <Empty>There is no audience.</Empty>;
  return (
    <Panel title="All audiences">
      <Scroll label="All audiences">
        <table>
          <thead>
            <tr>
              <th scope="col">Audience</th>
              <th scope="col">Trait</th>
              <th scope="col" class="number">
                Members
              </th>
              <th scope="col">Last sync</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {audiences.map(({ id, name, key, members, last, held, openSyncId }) => (
              <tr key={id}>
                <th scope="row">
                  {name} <small>{id}</small>
                </th>
                <td>
                  <code>{key}</code>
                </td>
                <td class="number">{countText(members)}</td>
                <td>
                  {last === null ? (
                    <span class="none">none yet</span>
                  ) : (
                    <>
                      <Time at={last.endedAt} now={now} /> <small>{last.syncId}</small>
                    </>
                  )}
                </td>
                <td>
                  {held !== null ? (
                    <State tone="bad" word="held" />
                  ) : openSyncId !== null ? (
                    <State tone="warn" word="a sync is under way" />
                  ) : (
                    <State tone="good" word="in step" />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}
