/** The local schema registry: Apicurio's, whose Confluent API has a path of its own. */

export const REGISTRY_VERSION = "3.0.9";
export const REGISTRY_PATH = "/apis/ccompat/v7";
export const REGISTRY_PORT = 8080;

/**
 * Small and quick to start. The database is a file: it writes at once, so that what was registered
 * outlives a kill.
 */
export function registrySettings(database: string): Readonly<Record<string, string>> {
  return {
    "apicurio.datasource.url": `jdbc:h2:file:${database};WRITE_DELAY=0`,
    "apicurio.datasource.jdbc.initial-size": "2",
    "apicurio.datasource.jdbc.min-size": "2",
    "apicurio.datasource.jdbc.max-size": "10",
    "quarkus.http.access-log.enabled": "false",
  };
}

/** As the environment that Quarkus reads settings from. */
export function registryEnvironment(
  settings: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key.replaceAll(/[^a-z0-9]/gi, "_").toUpperCase(),
      value,
    ]),
  );
}
