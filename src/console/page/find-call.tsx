/** Leads to a call by its id, or to the calls of a user. */

import { useState } from "preact/hooks";

import { callLink, userCallsLink } from "./address.ts";
import { Problem } from "./parts.tsx";
import { go } from "./router.tsx";
import { ask } from "./server.ts";

export function FindCall() {
  const [error, setError] = useState<string | null>(null);
  const byUser = (id: string) => {
    // The server makes the hash: the id itself gets into no address.
    ask("/api/user", id).then(
      (told) => go(userCallsLink((told as { readonly hash: string }).hash)),
      (problem: unknown) => setError(problem instanceof Error ? problem.message : String(problem)),
    );
  };
  return (
    <div class="finding">
      <Find label="Call" hint="its message id" take={(id) => go(callLink(id))} />
      <Find label="Calls of a user" hint="user id or anonymous id" take={byUser} />
      {error === null ? null : <Problem text={error} />}
    </div>
  );
}

function Find({
  label,
  hint,
  take,
}: {
  readonly label: string;
  readonly hint: string;
  readonly take: (id: string) => void;
}) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const id = String(new FormData(form).get("id") ?? "").trim();
    if (id !== "") take(id);
  };
  return (
    <form class="search" onSubmit={submit}>
      <label>
        <span>{label}</span>
        <input name="id" placeholder={hint} autoComplete="off" required />
      </label>
      <button type="submit">Find</button>
    </form>
  );
}
