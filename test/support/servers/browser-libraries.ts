/** The browser libraries whose calls the ingest stage must accept, as scripts of a page. */

import { join } from "node:path";

const MODULES = join(import.meta.dirname, "../../../node_modules");

export interface BrowserLibrary {
  readonly name: string;
  /** The library's script file. */
  readonly file: string;
  /** The page's script, which makes every kind of call that the library has, each with the mark in its context. */
  readonly script: (endpoint: string, writeKey: string, mark: string) => string;
  readonly types: readonly string[];
  /** The page's script loads `/library.js` itself. */
  readonly loadsIt?: true;
}

const SEGMENT_FILE = join(MODULES, "@segment/analytics-next/dist/umd/index.js");
const RUDDER_FILE = join(MODULES, "@rudderstack/analytics-js/dist/npm/modern/bundled/umd/index.js");

const TYPES = ["identify", "track", "page", "group", "alias"];

/** Loads the library with the settings that ingest serves, from which it gets the address for calls. */
function segment(strategy: object | null): BrowserLibrary["script"] {
  return (endpoint, writeKey, mark) => `
    const analytics = AnalyticsNext.AnalyticsBrowser.load(
      { writeKey: "${writeKey}", cdnURL: "${endpoint}" },
      { integrations: { "Segment.io": { deliveryStrategy: ${JSON.stringify(strategy ?? undefined)} } } },
    );
    const own = () => ({ context: { mark: "${mark}" }, integrations: { Webhooks: true } });
    const calls = [
      analytics.identify("u-1", { plan: "pro", Größe: "☕" }, own()),
      analytics.track("Order Completed", { total: 12.5, items: [1, 2] }, own()),
      analytics.page("Home", { tab: 1 }, own()),
      analytics.screen("Start", { tab: 2 }, own()),
      analytics.group("g-1", { name: "Acme" }, own()),
      analytics.alias("u-2", "u-1", own()),
    ];
    const contexts = await Promise.all(calls);
    return contexts.map((context) => context.failedDelivery()?.reason?.message ?? null);`;
}

const rudder =
  (options: object): BrowserLibrary["script"] =>
  (endpoint, writeKey, mark) =>
    `
    const analytics = new rudderanalytics.RudderAnalytics();
    const settings = { configUrl: "${endpoint}", logLevel: "ERROR" };
    analytics.load("${writeKey}", "${endpoint}", { ...settings, ...${JSON.stringify(options)} });
    const own = () => ({ context: { mark: "${mark}" }, integrations: { Webhooks: true } });
    await new Promise((resolve) => analytics.ready(resolve));
    analytics.identify("u-1", { plan: "pro", Größe: "☕" }, own());
    analytics.track("Order Completed", { total: 12.5, items: [1, 2] }, own());
    analytics.page("Docs", "Home", { tab: 1 }, own());
    analytics.group("g-1", { name: "Acme" }, own());
    analytics.alias("u-2", "u-1", own());`;

export const BROWSER_LIBRARIES: readonly BrowserLibrary[] = [
  {
    name: "@segment/analytics-next 1.84.3",
    file: SEGMENT_FILE,
    script: segment(null),
    types: [...TYPES, "screen"],
  },
  {
    name: "@segment/analytics-next 1.84.3 with batching",
    file: SEGMENT_FILE,
    script: segment({ strategy: "batching", config: { size: 4, timeout: 200 } }),
    types: [...TYPES, "screen"],
  },
  { name: "@rudderstack/analytics-js 3.34.1", file: RUDDER_FILE, script: rudder({}), types: TYPES },
  {
    name: "@rudderstack/analytics-js 3.34.1 with batching",
    file: RUDDER_FILE,
    script: rudder({ queueOptions: { batch: { enabled: true, maxItems: 3, flushInterval: 200 } } }),
    types: TYPES,
  },
  {
    name: "@rudderstack/analytics-js 3.34.1 with beacons",
    file: RUDDER_FILE,
    script: rudder({
      useBeacon: true,
      beaconQueueOptions: { maxItems: 2, flushQueueInterval: 200 },
    }),
    types: TYPES,
  },
];

/**
 * Segment's snippet (5.2.0) from Segment's page, with the two changes of docs/moving.md#segments-snippet: the address
 * of the library's file, and `_cdn`.
 */
const snippet: BrowserLibrary["script"] = (endpoint, writeKey, mark) => `
    !function(){var i="analytics",analytics=window[i]=window[i]||[];if(!analytics.initialize)if(analytics.invoked)window.console&&console.error&&console.error("Segment snippet included twice.");else{analytics.invoked=!0;analytics.methods=["trackSubmit","trackClick","trackLink","trackForm","pageview","identify","reset","group","track","ready","alias","debug","page","screen","once","off","on","addSourceMiddleware","addIntegrationMiddleware","setAnonymousId","addDestinationMiddleware","register"];analytics.factory=function(e){return function(){if(window[i].initialized)return window[i][e].apply(window[i],arguments);var n=Array.prototype.slice.call(arguments);if(["track","screen","alias","group","page","identify"].indexOf(e)>-1){var c=document.querySelector("link[rel='canonical']");n.push({__t:"bpc",c:c&&c.getAttribute("href")||void 0,p:location.pathname,u:location.href,s:location.search,t:document.title,r:document.referrer})}n.unshift(e);analytics.push(n);return analytics}};for(var n=0;n<analytics.methods.length;n++){var key=analytics.methods[n];analytics[key]=analytics.factory(key)}analytics.load=function(key,n){var t=document.createElement("script");t.type="text/javascript";t.async=!0;t.setAttribute("data-global-segment-analytics-key",i);t.src="/library.js";var r=document.getElementsByTagName("script")[0];r.parentNode.insertBefore(t,r);analytics._loadOptions=n};analytics._writeKey="${writeKey}";analytics._cdn="${endpoint}";analytics.SNIPPET_VERSION="5.2.0";
    analytics.load("${writeKey}");}}();
    const own = () => ({ context: { mark: "${mark}" }, integrations: { Webhooks: true } });
    analytics.identify("u-1", { plan: "pro", Größe: "☕" }, own());
    analytics.track("Order Completed", { total: 12.5, items: [1, 2] }, own());
    await new Promise((resolve) => analytics.ready(resolve));
    analytics.page("Home", { tab: 1 }, own());
    analytics.group("g-1", { name: "Acme" }, own());
    analytics.alias("u-2", "u-1", own());`;

export const SNIPPET: BrowserLibrary = {
  name: "Segment's snippet with standalone.js of @segment/analytics-next 1.84.3",
  file: join(MODULES, "@segment/analytics-next/dist/umd/standalone.js"),
  script: snippet,
  types: TYPES,
  loadsIt: true,
};

/** Makes calls in batching mode, and leaves the page before the batch is due. */
export const LEAVING: BrowserLibrary = {
  name: "@segment/analytics-next 1.84.3 with batching, on a page that is left",
  file: SEGMENT_FILE,
  script: (endpoint, writeKey, mark) => `
    ${segment({ strategy: "batching", config: { size: 100, timeout: 60_000 } })(
      endpoint,
      writeKey,
      mark,
    ).replace(
      "return contexts",
      'setTimeout(() => { location.href = "/away"; }, 0); return contexts',
    )}`,
  types: [...TYPES, "screen"],
};
