// Values that the chart rejects at install time, each by its name.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { tableRows } from "../support/build/table-rows.ts";
import { CHART, HELM_MAJORS, helm, NO_HELM, refusal, rendered } from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

/** Values for `--set-json`, in addition to the minimal values. */
type Row = readonly [values: string, named: string];

const TYPOS = tableRows<Row>(`
replicaCoun=3 | replicaCoun
image={"repo":"x"} | repo
config.kafka.brokerz=["a:1"] | brokerz
config.destinations=[{"id":"a","type":"webhook","sharedSecert":"s"}] | sharedSecert
config.kafka.sasl={"mechanizm":"plain"} | mechanizm
stages.rout={"enabled":true} | rout
stages.deliver={"replicas":3} | replicas
replicaCount="3" | replicaCount
replicaCount=-1 | replicaCount
keda.minReplicaCount=0 | minReplicaCount
podDisruptionBudget.maxUnavailable=0 | maxUnavailable
containerPorts.ingest=80 | containerPorts
image.digest="sha256:short" | digest
auditJob.since="yesterday" | since
`);

const CONTRADICTIONS: readonly Row[] = [
  ['{"autoscaling":{"enabled":true},"keda":{"enabled":true}}', "keda"],
  ['{"existingConfigMap":"mine"}', "config"],
  ['{"serviceMonitor":{"enabled":true},"podMonitor":{"enabled":true}}', "podMonitor"],
];

const REFUSED: readonly Row[] = [
  ['config.sources=[{"id":"web","writeKey":"${KEY}"}]', "config refers to the variable ${KEY}"],
  [
    'config.sources=[{"id":"web","writeKey":"${file:/run/secrets/switchyard/web}"}]',
    "existingSecret is not set: create a Secret with the key web",
  ],
  [
    'config.sources=[{"id":"web","writeKey":"${file:/etc/else/web}"}]',
    "config refers to the file ${file:/etc/else/web}, but nothing is mounted there",
  ],
  [
    '{"networkPolicy":{"enabled":true},"config":{"kafka":{"brokers":"${BROKERS}"}},"envFrom":[{"secretRef":{"name":"x"}}]}',
    "networkPolicy.kafka.ports is required",
  ],
  ...tableRows<Row>(`
image.repository="" | image.repository is required
config.kafka.brokers=[] | config.kafka.brokers is required
containerPorts.admin=8080 | containerPorts.ingest and containerPorts.admin are both 8080
{"auditJob":{"enabled":true},"config":{"audit":{"enabled":false}}} | auditJob is enabled, but config.audit.enabled is false
console.enabled=true | config.console.token is required with console.enabled
console={"enabled":true,"extraEnv":[{"name":"SWITCHYARD_CONSOLE_PORT","value":"1"}]} | extraEnv sets SWITCHYARD_CONSOLE_PORT
config.admin.port=9999 | config.admin.port is 9999, but containerPorts.admin is 9464
config.ingest.host="127.0.0.1" | config.ingest.host is 127.0.0.1
extraEnv=[{"name":"SWITCHYARD_ADMIN_PORT","value":"1"}] | extraEnv sets SWITCHYARD_ADMIN_PORT
replicaCount=7 | replicaCount is 7, but topics have only 6 partitions
autoscaling={"enabled":true,"maxReplicas":9} | autoscaling.maxReplicas is 9
autoscaling={"enabled":true,"minReplicas":5,"maxReplicas":2} | less than the minimum number of replicas, 5
keda={"enabled":true,"serverAddress":"http://p","maxReplicaCount":9} | keda.maxReplicaCount is 9
keda.enabled=true | keda.serverAddress is required
keda={"enabled":true,"serverAddress":"http://p","authModes":"bearer"} | must be set together
terminationGracePeriodSeconds=30 | must be at least 40
preStop.sleepSeconds=60 | must be at least 95
stages.deliver={"replicaCount":3} | stages.deliver.replicaCount is used only with stages.separate
stages={"separate":true,"deliver":{"replicaCount":7}} | replicaCount of stages.deliver is 7, but topics have only 6 partitions
stages={"separate":true,"ingest":{"keda":{"enabled":true,"serverAddress":"http://p"}}} | keda.query of stages.ingest is required
stages={"separate":true,"audience":{"keda":{"enabled":true,"serverAddress":"http://p"}}} | the lag does not fall while a sync is open
{"autoscaling":{"enabled":true},"stages":{"separate":true,"route":{"keda":{"enabled":true,"serverAddress":"http://p"}}}} | autoscaling and keda of stages.route are both enabled
{"ingress":{"enabled":true}} | ingress.hosts is required
{"httpRoute":{"enabled":true}} | httpRoute.parentRefs is required
{"stages":{"ingest":{"enabled":false}},"ingress":{"enabled":true,"hosts":[{"host":"a"}]}} | ingress is enabled, but stages.ingest is not
{"networkPolicy":{"enabled":true},"config":{"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com:8443/"}]}]}} | the destination crm posts to port 8443
{"networkPolicy":{"enabled":true},"config":{"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com/"}],"auth":{"type":"oauth2","tokenUrl":"https://id.example.com:8443/token","clientId":"c","clientSecret":"s"}}]}} | the destination crm posts to port 8443: add it to networkPolicy.destinations.ports
{"networkPolicy":{"enabled":true,"destinations":{"ports":[8443]}},"config":{"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com/"}]}]}} | the destination crm posts to port 443
{"networkPolicy":{"enabled":true},"config":{"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com/"}],"proxy":"http://p.example.com:3128"}]}} | the destination crm uses a proxy with port 3128: add a rule for it to networkPolicy.extraEgress
{"networkPolicy":{"enabled":true},"config":{"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com/"}]}],"delivery":{"proxy":"http://p.example.com:3128"}}} | the destination crm uses a proxy with port 3128
{"networkPolicy":{"enabled":true},"config":{"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com/"}],"auth":{"type":"oauth2","tokenUrl":"https://id.example.com:8443/token","clientId":"c","clientSecret":"s"},"proxy":"none"}],"delivery":{"proxy":"http://p.example.com:3128"}}} | the destination crm posts to port 8443
`),
];

function options(values: string): readonly string[] {
  return values.startsWith("{")
    ? Object.entries(JSON.parse(values)).flatMap(([key, value]) => [
        "--set-json",
        `${key}=${JSON.stringify(value)}`,
      ])
    : ["--set-json", values];
}

describe.each(HELM_MAJORS)("Helm %i", (major) => {
  test.each([...TYPOS, ...CONTRADICTIONS])("the schema rejects %s", async (values, named) => {
    const error = await refusal(major, "defaults", ...options(values));
    expect(error).toContain("values don't meet the specifications of the schema");
    expect(error).toContain(named);
  });
});

test.each(REFUSED)("%s is rejected: %s", async (values, sentence) => {
  const error = await refusal(4, "defaults", ...options(values));
  expect(error).toContain("these values are invalid:");
  expect(error.replaceAll("\n", " ")).toContain(sentence);
});

test.each(HELM_MAJORS)("all mistakes at once, by Helm %i", async (major) => {
  const error = await refusal(major, null, "--values", `${CHART}/ci/must-fail.yaml`);
  expect(error.split("\n").filter((line) => line.startsWith("- "))).toHaveLength(10);
});

test("Kubernetes before 1.27 is rejected", async () => {
  expect(await refusal(4, "defaults", "--kube-version", "1.26.9")).toContain("incompatible");
});

test.each([
  ["a variable with a default", 'config.sources=[{"id":"web","writeKey":"${KEY:-k}"}]'],
  ["a variable that stands for itself", 'config.sources=[{"id":"web","writeKey":"$${KEY}"}]'],
  [
    "brokers in a variable of the container",
    '{"config":{"kafka":{"brokers":"${BROKERS}"}},"extraEnv":[{"name":"BROKERS","value":"a:1"}]}',
  ],
  [
    "more replicas than partitions, of ingest alone",
    '{"stages":{"separate":true,"ingest":{"replicaCount":20}}}',
  ],
  [
    "a token endpoint behind a proxy, with a rule for the proxy",
    '{"networkPolicy":{"enabled":true,"extraEgress":[{"ports":[{"port":3128}]}]},"config":{"kafka":{"brokers":["k:9092"]},"destinations":[{"id":"crm","type":"webhook","endpoints":[{"url":"https://a.example.com/"}],"auth":{"type":"oauth2","tokenUrl":"https://id.example.com:8443/token","clientId":"c","clientSecret":"s"}}],"delivery":{"proxy":"http://p.example.com:3128"}}}',
  ],
  ["more replicas, with more partitions", '{"replicaCount":20,"partitions":20}'],
])("%s is not refused", async (_what, values) => {
  await rendered("defaults", 4, ...options(values));
});

test("no value is an image or a credential by default", async () => {
  const { out } = await helm(4, "show", "values", CHART);
  const values = JSON.stringify(parse(out));
  expect(values).toContain('"repository":""');
  expect(values).not.toMatch(/password|secret"?:"[^"]|changeme|example|docker\.io/i);
});
