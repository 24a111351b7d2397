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
{{- fail (printf "these values cannot be used:\n\n- %s\n" (join "\n- " $problems)) -}}
{{- end -}}
{{- end -}}

{{/* Image and configuration. */}}
{{- define "switchyard.problems.source" -}}
{{- $problems := list -}}
{{- $config := .Values.config -}}
{{- if not .Values.image.repository -}}
{{- $problems = append $problems "image.repository must be given: where you pushed the image, such as registry.example.com/switchyard" -}}
{{- end -}}
{{- if and $config .Values.existingConfigMap -}}
{{- $problems = append $problems (printf "config and existingConfigMap (%s) are both given; one of them counts" .Values.existingConfigMap) -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.extraEnv }}{{ $names = append $names .name }}{{ end -}}
{{- $brokers := get (default (dict) $config.kafka) "brokers" -}}
{{- if not (or $brokers .Values.existingConfigMap .Values.envFrom (has "SWITCHYARD_KAFKA_BROKERS" $names)) -}}
{{- $problems = append $problems "config.kafka.brokers must be given, such as [kafka-bootstrap.kafka:9092]" -}}
{{- end -}}
{{- range .Values.console.extraEnv }}{{ $names = append $names .name }}{{ end -}}
{{- $token := get (default (dict) $config.console) "token" -}}
{{- if and .Values.console.enabled (not (or $token .Values.existingConfigMap .Values.envFrom (has "SWITCHYARD_CONSOLE_TOKEN" $names))) -}}
{{- $problems = append $problems "config.console.token must be given with console.enabled, such as ${file:/run/secrets/switchyard/console-token}: the page is reached from other pods" -}}
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
{{- $problems = append $problems (printf "containerPorts.console is %d, which containerPorts has for something else, too" (int $ports.console)) -}}
{{- end -}}
{{- range $part := ternary (list "ingest" "admin" "console") (list "ingest" "admin") .Values.console.enabled -}}
{{- $settings := default (dict) (get $.Values.config $part) -}}
{{- if and (hasKey $settings "port") (ne (toString $settings.port) (toString (get $ports $part))) -}}
{{- $problems = append $problems (printf "config.%s.port is %v, and containerPorts.%s is %v; give the latter alone" $part $settings.port $part (get $ports $part)) -}}
{{- end -}}
{{- if has (toString $settings.host) (list "127.0.0.1" "localhost" "::1") -}}
{{- $problems = append $problems (printf "config.%s.host is %s, which nothing outside of the container reaches; leave it out" $part $settings.host) -}}
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
{{- $problems = append $problems (printf "config names the secret %s, and existingSecret is not given: make a Secret with the key %s, and name it there" . (base $path)) -}}
{{- else if not $mounted -}}
{{- $problems = append $problems (printf "config names the file %s, and nothing is mounted there; see secretMounts" .) -}}
{{- end -}}
{{- end -}}
{{- $own := list "SWITCHYARD_CONFIG" "SWITCHYARD_INGEST_PORT" "SWITCHYARD_ADMIN_PORT" "SWITCHYARD_AUDIENCE_STATE_DIR" "SWITCHYARD_CONSOLE_HOST" "SWITCHYARD_CONSOLE_PORT" -}}
{{- $where := dict -}}
{{- range $component := (include "switchyard.components" . | fromYaml).list -}}
{{- $set := list -}}
{{- range $component.settings.extraEnv -}}
{{- $set = append $set .name -}}
{{- if has .name $own }}{{ $_ := set $where (printf "extraEnv sets %s, which the chart sets; ports are in containerPorts" .name) true }}{{ end -}}
{{- end -}}
{{- if not $.Values.envFrom -}}
{{- range regexFindAll `\$\{[A-Za-z_][A-Za-z0-9_]*\}` $text -1 | uniq -}}
{{- if not (has (. | trimPrefix "${" | trimSuffix "}") $set) -}}
{{- $_ := set $where (printf "config names the variable %s, and neither extraEnv nor envFrom sets it%s" . (ternary (printf " (%s)" $component.component) "" (or $.Values.stages.separate (eq $component.component "console")))) true -}}
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
{{- if not $components }}{{ $problems = append $problems "stages: every one is disabled" }}{{ end -}}
{{- range $stage := include "switchyard.stageNames" . | splitList "," -}}
{{- with omit (get $.Values.stages $stage) "enabled" -}}
{{- if not $.Values.stages.separate -}}
{{- $problems = append $problems (printf "stages.%s.%s counts with stages.separate alone; set that, or the value of all stages" $stage (keys . | sortAlpha | first)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $needed := add 30 (ternary (int .Values.preStop.sleepSeconds) 0 .Values.stages.ingest.enabled) 5 | int -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) $needed -}}
{{- $problems = append $problems (printf "terminationGracePeriodSeconds is %d; stopping takes up to 30 s after preStop.sleepSeconds, so at least %d" (int .Values.terminationGracePeriodSeconds) $needed) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- $problems = append $problems "serviceMonitor and podMonitor are both enabled, so that everything would be counted twice" -}}
{{- end -}}
{{- $partitions := include "switchyard.partitions" . | int -}}
{{- range $component := $components -}}
{{- $settings := $component.settings -}}
{{- $at := ternary (printf " of stages.%s" $component.component) "" $.Values.stages.separate -}}
{{- if eq $component.component "console" }}{{ $at = " of console" }}{{ end -}}
{{- if and $settings.autoscaling.enabled $settings.keda.enabled -}}
{{- $problems = append $problems (printf "autoscaling and keda%s are both enabled; one of them decides on replicas" $at) -}}
{{- end -}}
{{- $most := ternary (dict "name" "autoscaling.maxReplicas" "count" $settings.autoscaling.maxReplicas "least" $settings.autoscaling.minReplicas) (dict "name" "replicaCount" "count" $settings.replicaCount "least" 0) $settings.autoscaling.enabled -}}
{{- if $settings.keda.enabled }}{{ $most = dict "name" "keda.maxReplicaCount" "count" $settings.keda.maxReplicaCount "least" $settings.keda.minReplicaCount }}{{ end -}}
{{- if lt (int $most.count) (int $most.least) -}}
{{- $problems = append $problems (printf "%s%s is %d, below the fewest, %d" $most.name $at (int $most.count) (int $most.least)) -}}
{{- end -}}
{{- if and (gt $partitions 0) (not (has $component.component (list "ingest" "console"))) (gt (int $most.count) $partitions) -}}
{{- $problems = append $problems (printf "%s%s is %d, and topics have %d partitions; a replica more would get none" $most.name $at (int $most.count) $partitions) -}}
{{- end -}}
{{- if $settings.keda.enabled -}}
{{- if not $settings.keda.serverAddress }}{{ $problems = append $problems (printf "keda.serverAddress%s must be given: the URL of Prometheus" $at) }}{{ end -}}
{{- if and (has $component.component (list "ingest" "audience")) (not $settings.keda.query) -}}
{{- $problems = append $problems (printf "keda.query%s must be given: %s" $at (ternary "ingest has no lag; autoscaling fits it" "an open sync keeps its lag" (eq $component.component "ingest"))) -}}
{{- end -}}
{{- if ne (empty $settings.keda.authModes) (empty $settings.keda.secretTargetRef) -}}
{{- $problems = append $problems (printf "keda.authModes and keda.secretTargetRef%s belong together" $at) -}}
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
{{- if (get $.Values $part).enabled }}{{ $problems = append $problems (printf "%s is enabled, and stages.ingest is not" $part) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- $problems = append $problems "httpRoute.parentRefs must be given: the gateways" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- $problems = append $problems "ingress.hosts must be given" -}}
{{- end -}}
{{- if .Values.networkPolicy.enabled -}}
{{- range $part, $ports := include "switchyard.outsidePorts" . | fromYaml -}}
{{- if and (kindIs "slice" $ports) (not $ports) -}}
{{- $problems = append $problems (printf "networkPolicy.%s.ports must be given: the chart cannot read them from config" $part) -}}
{{- end -}}
{{- end -}}
{{- $open := list -}}
{{- range .Values.networkPolicy.destinations.ports }}{{ $open = append $open (toString .) }}{{ end -}}
{{- range $destination := include "switchyard.destinations" . | fromYamlArray -}}
{{- range $endpoint := $destination.endpoints -}}
{{- $port := regexFind `^https?://[^/?#]+:[0-9]+` (toString $endpoint.url) | splitList ":" | last -}}
{{- if and $port (not (has $port $open)) -}}
{{- $problems = append $problems (printf "the destination %s posts to port %s, which networkPolicy.destinations.ports does not have" $destination.id $port) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if contains "${" (toYaml (default (list) (get (default (dict) .Values.config.delivery) "allowNetworks"))) -}}
{{- $problems = append $problems "config.delivery.allowNetworks has a variable, which a NetworkPolicy cannot; write the networks" -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}
