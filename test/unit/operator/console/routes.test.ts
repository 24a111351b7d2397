import { expect, test } from "vitest";

import { routeOf } from "../../../../src/operator/console/routes.ts";

test.each([
  ["/", "page"],
  ["/?x=1", "page"],
  ["/destinations", "page"],
  ["/destinations/crm-hook", "page"],
  ["/destinations/%3Cb%3E", "page"],
  ["/dead-letters?reason=expired", "page"],
  ["/calls/0a1b", "page"],
  ["/calls", "page"],
  ["/calls?user=0a1b", "page"],
  ["/calls/a/b", "unknown"],
  ["/api/call?id=m-1", "data"],
  ["/api/calls?user=0a1b", "data"],
  ["/api/attempts?destination=crm", "data"],
  ["/api/user", "user"],
  ["/audiences", "page"],
  ["/configuration", "page"],
  ["/assets/app-0a1b.js", "asset"],
  ["/assets/../package.json", "missing page"],
  ["/assets/%2e%2e/x.js", "missing page"],
  ["/assets/a/b.js", "unknown"],
  ["/api/session", "session"],
  ["/api/actions", "actions"],
  ["/api/actions/0b4a4c3e-59c7-4c55-8b0a-7a1b3f9c2d10", "actions"],
  ["/api/actions/../session", "session"],
  ["/api/actions/1", "unknown"],
  ["/api/audiences", "data"],
  ["/api/dead-letters?since=7d", "data"],
  ["/api/configuration", "data"],
  ["/api/events?of=overview", "events"],
  ["/api/events?of=destination", "unknown"],
  ["/api/events", "unknown"],
  ["/destinations/a/b", "unknown"],
  ["/nothing", "missing page"],
  ["/nothing/here", "missing page"],
  ["/api/nothing", "unknown"],
  ["//attacker.example/destinations", "missing page"],
  ["//", "page"],
  ["//destinations/crm-hook", "page"],
  ["///assets/app-0a1b.js", "asset"],
  ["//api/session", "session"],
  ["/destinations//crm-hook", "unknown"],
  ["http://attacker.example/", "unknown"],
  ["*", "unknown"],
])("%s is of kind %s", (target, kind) => {
  const route = routeOf(target);
  const isMissing = route.kind === "page" && !route.exists;
  expect(isMissing ? "missing page" : route.kind).toBe(kind);
});

test("the id of a destination is read with its escapes", () => {
  expect(routeOf("/api/events?of=destination&id=a%20b%26c")).toEqual({
    kind: "events",
    view: { of: "destination", id: "a b&c" },
  });
});
