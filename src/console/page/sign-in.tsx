/** The token is asked for once; the browser keeps a cookie that no script can read. */

import { useState } from "preact/hooks";

import { Problem } from "./parts.tsx";
import { signIn } from "./server.ts";

export function SignIn({ onDone }: { readonly onDone: () => void }) {
  const [error, setError] = useState<string | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const token = String(new FormData(form).get("token") ?? "");
    signIn(token).then(
      (problem) => {
        setError(problem);
        if (problem === null) onDone();
      },
      () => setError("The server of this page does not answer."),
    );
  };
  return (
    <main class="log-in">
      <form onSubmit={submit}>
        <h1>Switchyard</h1>
        <label>
          Token
          <input type="password" name="token" autoComplete="current-password" required />
        </label>
        <button type="submit">Log in</button>
        <p class="beside">The setting console.token has it.</p>
        {error === null ? null : <Problem text={error} />}
      </form>
    </main>
  );
}
