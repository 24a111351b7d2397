{{/*
Rejects values that contradict each other or the configuration, all of them at once, each by name.
values.schema.json has already rejected typos.
*/}}
{{- define "switchyard.validate" -}}
{{- $problems := concat
  (include "switchyard.problems.source" . | fromYamlArray)
  (include "switchyard.problems.ports" . | fromYamlArray)
  (include "switchyard.problems.references" . | fromYamlArray)
  (include "switchyard.problems.workloads" . | fromYamlArray)
  (include "switchyard.problems.network" . | fromYamlArray) -}}
{{- if $problems -}}
{{- fail (printf "these values are invalid:\n\n- %s\n" (join "\n- " $problems)) -}}
{{- end -}}
{{- end -}}

{{/* Image and configuration. */}}
{{- define "switchyard.problems.source" -}}
{{- $problems := list -}}
{{- $config := .Values.config -}}
{{- if not .Values.image.repository -}}
{{- $problems = append $problems "image.repository is required: the repository to which you pushed the image, such as registry.example.com/switchyard" -}}
{{- end -}}
{{- if and $config .Values.existingConfigMap -}}
{{- $problems = append $problems (printf "config and existingConfigMap (%s) are both set: use only one of them" .Values.existingConfigMap) -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.extraEnv }}{{ $names = append $names .name }}{{ end -}}
{{- $brokers := get (default (dict) $config.kafka) "brokers" -}}
{{- if not (or $brokers .Values.existingConfigMap .Values.envFrom (has "SWITCHYARD_KAFKA_BROKERS" $names)) -}}
{{- $problems = append $problems "config.kafka.brokers is required, such as [kafka-bootstrap.kafka:9092]" -}}
{{- end -}}
{{- range .Values.console.extraEnv }}{{ $names = append $names .name }}{{ end -}}
{{- $token := get (default (dict) $config.console) "token" -}}
{{- if and .Values.console.enabled (not (or $token .Values.existingConfigMap .Values.envFrom (has "SWITCHYARD_CONSOLE_TOKEN" $names))) -}}
{{- $problems = append $problems "config.console.token is required with console.enabled, because other pods can reach the console: use a secret such as ${file:/run/secrets/switchyard/console-token}" -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{/* Ports: those of the pod win over the configuration, so another one there would never be used. */}}
{{- define "switchyard.problems.ports" -}}
{{- $problems := list -}}
{{- $ports := .Values.containerPorts -}}
{{- if eq (int $ports.ingest) (int $ports.admin) -}}
{{- $problems = append $problems (printf "containerPorts.ingest and containerPorts.admin are both %d" (int $ports.admin)) -}}
{{- end -}}
{{- if and .Values.console.enabled (or (eq (int $ports.console) (int $ports.admin)) (eq (int $ports.console) (int $ports.ingest))) -}}
{{- $problems = append $problems (printf "containerPorts.console is %d, which is also the value of another port in containerPorts" (int $ports.console)) -}}
{{- end -}}
{{- range $part := ternary (list "ingest" "admin" "console") (list "ingest" "admin") .Values.console.enabled -}}
{{- $settings := default (dict) (get $.Values.config $part) -}}
{{- if and (hasKey $settings "port") (ne (toString $settings.port) (toString (get $ports $part))) -}}
{{- $problems = append $problems (printf "config.%s.port is %v, but containerPorts.%s is %v: set only containerPorts" $part $settings.port $part (get $ports $part)) -}}
{{- end -}}
{{- if has (toString $settings.host) (list "127.0.0.1" "localhost" "::1") -}}
{{- $problems = append $problems (printf "config.%s.host is %s, which cannot be reached from outside the container: do not set it" $part $settings.host) -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{/* Variables and files that the configuration names: something has to set or mount each of them. */}}
{{- define "switchyard.problems.references" -}}
{{- $problems := list -}}
{{- $text := regexReplaceAll `\$\$\{[^}]*\}` (toYaml (list .Values.config .Values.configFiles)) "" -}}
{{- $mounts := list "/etc/switchyard/" "/tmp/" -}}
{{- with .Values.existingSecret }}{{ $mounts = append $mounts "/run/secrets/switchyard/" }}{{ end -}}
{{- range concat .Values.secretMounts .Values.extraVolumeMounts }}{{ $mounts = append $mounts (printf "%s/" (trimSuffix "/" .mountPath)) }}{{ end -}}
{{- range regexFindAll `\$\{file:[^}]*\}` $text -1 | uniq -}}
{{- $path := . | trimPrefix "${file:" | trimSuffix "}" -}}
{{- $mounted := not (hasPrefix "/" $path) -}}
{{- range $mounts }}{{ if or (hasPrefix . $path) (eq (trimSuffix "/" .) $path) }}{{ $mounted = true }}{{ end }}{{ end -}}
{{- if and (not $mounted) (hasPrefix "/run/secrets/switchyard/" $path) -}}
{{- $problems = append $problems (printf "config refers to the secret %s, but existingSecret is not set: create a Secret with the key %s, and set existingSecret to its name" . (base $path)) -}}
{{- else if not $mounted -}}
{{- $problems = append $problems (printf "config refers to the file %s, but nothing is mounted there: mount it with secretMounts" .) -}}
{{- end -}}
{{- end -}}
{{- $own := list "SWITCHYARD_CONFIG" "SWITCHYARD_INGEST_PORT" "SWITCHYARD_ADMIN_PORT" "SWITCHYARD_AUDIENCE_STATE_DIR" "SWITCHYARD_CONSOLE_HOST" "SWITCHYARD_CONSOLE_PORT" -}}
{{- $where := dict -}}
{{- range $component := (include "switchyard.components" . | fromYaml).list -}}
{{- $set := list -}}
{{- range $component.settings.extraEnv -}}
{{- $set = append $set .name -}}
{{- if has .name $own }}{{ $_ := set $where (printf "extraEnv sets %s, but the chart sets this variable: for a port, use containerPorts" .name) true }}{{ end -}}
{{- end -}}
{{- if not $.Values.envFrom -}}
{{- range regexFindAll `\$\{[A-Za-z_][A-Za-z0-9_]*\}` $text -1 | uniq -}}
{{- if not (has (. | trimPrefix "${" | trimSuffix "}") $set) -}}
{{- $_ := set $where (printf "config refers to the variable %s, but neither extraEnv nor envFrom sets it%s" . (ternary (printf " (%s)" $component.component) "" (or $.Values.stages.separate (eq $component.component "console")))) true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- concat $problems (keys $where | sortAlpha) | toYaml -}}
{{- end -}}

{{/* Replicas, scalers and stages. */}}
{{- define "switchyard.problems.workloads" -}}
{{- $problems := list -}}
{{- $components := (include "switchyard.components" . | fromYaml).list -}}
{{- if not $components }}{{ $problems = append $problems "stages: all stages are disabled" }}{{ end -}}
{{- range $stage := include "switchyard.stageNames" . | splitList "," -}}
{{- with omit (get $.Values.stages $stage) "enabled" -}}
{{- if not $.Values.stages.separate -}}
{{- $problems = append $problems (printf "stages.%s.%s is used only with stages.separate: set stages.separate, or use the value for all stages" $stage (keys . | sortAlpha | first)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $needed := add 30 (ternary (int .Values.preStop.sleepSeconds) 0 .Values.stages.ingest.enabled) 5 | int -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) $needed -}}
{{- $problems = append $problems (printf "terminationGracePeriodSeconds is %d, but must be at least %d: a stop takes up to 30 s after preStop.sleepSeconds" (int .Values.terminationGracePeriodSeconds) $needed) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- $problems = append $problems "serviceMonitor and podMonitor are both enabled, so every metric would be counted twice" -}}
{{- end -}}
{{- if and .Values.auditJob.enabled (eq (toString (get (default (dict) .Values.config.audit) "enabled")) "false") -}}
{{- $problems = append $problems "auditJob is enabled, but config.audit.enabled is false, so there is no ledger to audit" -}}
{{- end -}}
{{- $partitions := include "switchyard.partitions" . | int -}}
{{- range $component := $components -}}
{{- $settings := $component.settings -}}
{{- $at := ternary (printf " of stages.%s" $component.component) "" $.Values.stages.separate -}}
{{- if eq $component.component "console" }}{{ $at = " of console" }}{{ end -}}
{{- if and $settings.autoscaling.enabled $settings.keda.enabled -}}
{{- $problems = append $problems (printf "autoscaling and keda%s are both enabled: use only one of them" $at) -}}
{{- end -}}
{{- $most := ternary (dict "name" "autoscaling.maxReplicas" "count" $settings.autoscaling.maxReplicas "least" $settings.autoscaling.minReplicas) (dict "name" "replicaCount" "count" $settings.replicaCount "least" 0) $settings.autoscaling.enabled -}}
{{- if $settings.keda.enabled }}{{ $most = dict "name" "keda.maxReplicaCount" "count" $settings.keda.maxReplicaCount "least" $settings.keda.minReplicaCount }}{{ end -}}
{{- if lt (int $most.count) (int $most.least) -}}
{{- $problems = append $problems (printf "%s%s is %d, which is less than the minimum number of replicas, %d" $most.name $at (int $most.count) (int $most.least)) -}}
{{- end -}}
{{- if and (gt $partitions 0) (not (has $component.component (list "ingest" "console"))) (gt (int $most.count) $partitions) -}}
{{- $problems = append $problems (printf "%s%s is %d, but topics have only %d partitions: the other replicas would be idle" $most.name $at (int $most.count) $partitions) -}}
{{- end -}}
{{- if $settings.keda.enabled -}}
{{- if not $settings.keda.serverAddress }}{{ $problems = append $problems (printf "keda.serverAddress%s is required: the URL of Prometheus" $at) }}{{ end -}}
{{- if and (has $component.component (list "ingest" "audience")) (not $settings.keda.query) -}}
{{- $problems = append $problems (printf "keda.query%s is required: %s" $at (ternary "ingest has no lag, so autoscaling is the better choice" "the lag does not fall while a sync is open" (eq $component.component "ingest"))) -}}
{{- end -}}
{{- if ne (empty $settings.keda.authModes) (empty $settings.keda.secretTargetRef) -}}
{{- $problems = append $problems (printf "keda.authModes and keda.secretTargetRef%s must be set together" $at) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{/* 0: nobody knows. A text, such as `${PARTITIONS}`, is not known either. */}}
{{- define "switchyard.partitions" -}}
{{- $configured := get (default (dict) .Values.config.kafka) "partitions" -}}
{{- if .Values.partitions -}}
{{ .Values.partitions }}
{{- else if or .Values.existingConfigMap (and $configured (kindIs "string" $configured)) -}}
0
{{- else -}}
{{ default 6 $configured }}
{{- end -}}
{{- end -}}

{{/* What lets callers in and calls out. */}}
{{- define "switchyard.problems.network" -}}
{{- $problems := list -}}
{{- if not .Values.stages.ingest.enabled -}}
{{- range $part := list "ingress" "httpRoute" -}}
{{- if (get $.Values $part).enabled }}{{ $problems = append $problems (printf "%s is enabled, but stages.ingest is not" $part) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- $problems = append $problems "httpRoute.parentRefs is required: the gateways" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- $problems = append $problems "ingress.hosts is required" -}}
{{- end -}}
{{- if .Values.networkPolicy.enabled -}}
{{- range $part, $ports := include "switchyard.outsidePorts" . | fromYaml -}}
{{- if and (kindIs "slice" $ports) (not $ports) -}}
{{- $problems = append $problems (printf "networkPolicy.%s.ports is required, because the chart cannot read the ports from config" $part) -}}
{{- end -}}
{{- end -}}
{{- $open := list -}}
{{- range .Values.networkPolicy.destinations.ports }}{{ $open = append $open (toString .) }}{{ end -}}
{{- range $destination := include "switchyard.destinations" . | fromYamlArray -}}
{{- $proxy := coalesce $destination.proxy (get (default (dict) $.Values.config.delivery) "proxy") "none" -}}
{{- $urls := list -}}
{{- range $destination.endpoints }}{{ $urls = append $urls (toString .url) }}{{ end -}}
{{- with get (default (dict) $destination.auth) "tokenUrl" }}{{ $urls = append $urls . }}{{ end -}}
{{- if and $destination.endpoints (ne $proxy "none") }}{{ $urls = ternary (list) (list $proxy) (gt (len $.Values.networkPolicy.extraEgress) 0) }}{{ end -}}
{{- range $port := include "switchyard.portsOf" (dict "texts" $urls) | fromYamlArray -}}
{{- if has (toString $port) $open -}}
{{- else if eq $proxy "none" -}}
{{- $problems = append $problems (printf "the destination %s posts to port %v: add it to networkPolicy.destinations.ports" $destination.id $port) -}}
{{- else -}}
{{- $problems = append $problems (printf "the destination %s uses a proxy with port %v: add a rule for it to networkPolicy.extraEgress" $destination.id $port) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if contains "${" (toYaml (default (list) (get (default (dict) .Values.config.delivery) "allowNetworks"))) -}}
{{- $problems = append $problems "config.delivery.allowNetworks contains a variable, which cannot be used in a NetworkPolicy: list the networks themselves" -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}
