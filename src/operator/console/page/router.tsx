/** Changes the address without loading the document again. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { below, type PageAddress, pathOf, placeOf } from "./address.ts";

const listeners = new Set<() => void>();

export interface Here {
  readonly place: PageAddress;
  readonly path: string;
  readonly query: URLSearchParams;
}

function here(): Here {
  const { pathname, search } = window.location;
  const path = pathOf(pathname);
  return { place: placeOf(path), path, query: new URLSearchParams(search) };
}

export function useHere(): Here {
  const [now, setNow] = useState(here);
  useEffect(() => {
    const changed = () => setNow(here());
    listeners.add(changed);
    window.addEventListener("popstate", changed);
    return () => {
      listeners.delete(changed);
      window.removeEventListener("popstate", changed);
    };
  }, []);
  return now;
}

export function go(to: string): void {
  window.history.pushState(null, "", below(to));
  window.scrollTo(0, 0);
  for (const notify of listeners) notify();
}

/** Sets a filter or an order in the address. An empty value removes it. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  const search = query.size === 0 ? "" : `?${query}`;
  window.history.replaceState(null, "", `${window.location.pathname}${search}`);
  for (const notify of listeners) notify();
}

interface LinkProps {
  readonly to: string;
  readonly isHere?: boolean;
  readonly children: ComponentChildren;
}

export function Link({ to, isHere = false, children }: LinkProps) {
  const follow = (event: MouseEvent) => {
    // Clicks that open another tab or window are left to the browser.
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={below(to)} onClick={follow} {...(isHere ? { "aria-current": "page" } : {})}>
      {children}
    </a>
  );
}
