/** The requests that deliver would make of a call now, as `switchyard explain` shows them. */

import type { CallRequest } from "../query-view.ts";
import { destinationLink } from "./address.ts";
import { Empty, Panel } from "./parts.tsx";
import { Link } from "./router.tsx";

export function CallRequests({ requests }: { readonly requests: readonly CallRequest[] }) {
  return (
    <Panel title="Its requests">
      <p class="beside">
        As they would be made now, of this configuration. Nothing is sent. Values of static headers
        and paths of URLs are hidden.
      </p>
      {requests.length === 0 ? <Empty>The call itself is not there, or goes nowhere.</Empty> : null}
      {requests.map((request) => (
        <Request key={`${request.destination} ${request.endpoint}`} request={request} />
      ))}
    </Panel>
  );
}

function Request({ request }: { readonly request: CallRequest }) {
  const { destination, endpoint, note } = request;
  if (note !== null) {
    return (
      <p class="beside">
        <Link to={destinationLink(destination)}>{destination}</Link> {note}
      </p>
    );
  }
  return (
    <details>
      <summary>{endpoint}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>{requestText(request)}</pre>
    </details>
  );
}

function requestText({ method, origin, headers, body, bodyBytes }: CallRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value ?? "(hidden)"}`);
  const size = `${bodyBytes.toLocaleString("en")} bytes`;
  const shown = body ?? `(${size}, which console.showPayloads: true shows)`;
  return [`${method} ${origin}/…`, ...lines, "", shown].join("\n");
}
