/**
 * Builds the settings that SDKs for browsers and phones fetch before they send anything. The settings never vary:
 * they make SDKs send every call to this server, and to no other.
 */

import type { Source } from "../../domain/destination.ts";

/** The address of this server, as the client sees it. */
export interface ServerAddress {
  /** Host and port. */
  readonly host: string;
  readonly isSecure: boolean;
}

/** The settings for analytics.js 2 and Segment's mobile SDKs, in the format of Segment's CDN. */
export function segmentSettings(writeKey: string, { host, isSecure }: ServerAddress): string {
  const apiHost = `${host}/v1`;
  const everything = { __default: { enabled: true, integrations: {} } };
  return JSON.stringify({
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        apiHost,
        protocol: isSecure ? "https" : "http",
        unbundledIntegrations: [],
        addBundledMetadata: true,
        maybeBundledConfigIds: {},
        versionSettings: { version: "4.4.7", componentTypes: ["browser"] },
      },
    },
    plan: { track: everything, identify: everything, group: everything },
    ...{
      edgeFunction: {},
      analyticsNextEnabled: true,
      middlewareSettings: {},
      enabledMiddleware: {},
    },
    // The SDK must not send metrics about itself.
    metrics: { sampleRate: 0, host: apiHost },
    legacyVideoPluginsEnabled: false,
    remotePlugins: [],
  });
}

/** The settings for RudderStack's SDKs, in the format of RudderStack's control plane. */
export function rudderSettings(
  writeKey: string,
  { id }: Source,
  { host, isSecure }: ServerAddress,
) {
  const url = `${isSecure ? "https" : "http"}://${host}`;
  const off = { enabled: false };
  return JSON.stringify({
    isHosted: false,
    source: {
      id,
      name: id,
      writeKey,
      enabled: true,
      workspaceId: "switchyard",
      updatedAt: "2026-01-01T00:00:00.000Z",
      destinations: [],
      connections: [],
      sourceDefinition: { name: "Javascript", category: null },
      dataplanes: { US: [{ url, default: true }] },
      config: { statsCollection: { errors: off, metrics: off } },
    },
    updatedAt: "2026-01-01T00:00:00.000Z",
  });
}

const HOST = /^(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/;

/** @param host the host from the request. Returns null if a URL may not contain that host. */
export function serverAddress(host: string | undefined, isSecure: boolean): ServerAddress | null {
  return host !== undefined && HOST.test(host) ? { host, isSecure } : null;
}
