{{/* The pod of a workload: (dict "root" $root "component" <of switchyard.components>) */}}
{{- define "switchyard.podTemplate" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $settings := $component.settings -}}
{{- $labels := dict "root" $root "component" $component.component -}}
metadata:
  labels:
    {{- include "switchyard.podLabels" (merge (dict "labels" $settings.podLabels) $labels) | nindent 4 }}
  {{- $annotations := merge (dict) $settings.podAnnotations $root.Values.commonAnnotations }}
  {{- if not $root.Values.existingConfigMap }}
  {{- $_ := set $annotations "checksum/config" (include "switchyard.configChecksum" $root) }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "switchyard.serviceAccountName" $root }}
  {{- include "switchyard.podSpecBase" $root | nindent 2 }}
  terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
  {{- with $settings.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $settings.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $settings.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $settings.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $constraints := list }}
  {{- range $settings.topologySpreadConstraints }}
  {{- $own := dict "labelSelector" (dict "matchLabels" (include "switchyard.selectorLabels" $labels | fromYaml)) }}
  {{- $constraints = append $constraints (merge (dict) . $own) }}
  {{- end }}
  {{- with $constraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.initContainers }}
  initContainers:
    {{- tpl (toYaml .) $root | nindent 4 }}
  {{- end }}
  containers:
    - name: switchyard
      args: ["run", "--stages", {{ join "," $component.stages | quote }}]
      {{- include "switchyard.containerBase" $root | nindent 6 }}
      ports:
        {{- if has "ingest" $component.stages }}
        - { name: ingest, containerPort: {{ $root.Values.containerPorts.ingest }}, protocol: TCP }
        {{- end }}
        {{- if has "console" $component.stages }}
        - { name: console, containerPort: {{ $root.Values.containerPorts.console }}, protocol: TCP }
        {{- end }}
        - { name: admin, containerPort: {{ $root.Values.containerPorts.admin }}, protocol: TCP }
      env:
        {{- if has "console" $component.stages }}
        {{- include "switchyard.consoleEnv" $root | nindent 8 }}
        {{- end }}
        {{- include "switchyard.env" (dict "root" $root "extraEnv" $settings.extraEnv) | nindent 8 }}
      {{- with $root.Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- /* Kubernetes has had this pause since 1.29, and without a feature gate since 1.30. It needs no shell. */}}
      {{- if and (has "ingest" $component.stages) (gt (int $root.Values.preStop.sleepSeconds) 0) (semverCompare ">=1.30.0-0" $root.Capabilities.KubeVersion.Version) }}
      lifecycle:
        preStop:
          sleep: { seconds: {{ $root.Values.preStop.sleepSeconds }} }
      {{- end }}
      startupProbe:
        httpGet: { path: /livez, port: admin }
        {{- toYaml $root.Values.startupProbe | nindent 8 }}
      livenessProbe:
        httpGet: { path: /livez, port: admin }
        {{- toYaml $root.Values.livenessProbe | nindent 8 }}
      readinessProbe:
        httpGet: { path: /readyz, port: admin }
        {{- toYaml $root.Values.readinessProbe | nindent 8 }}
      {{- with $settings.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "switchyard.volumeMounts" $root | nindent 8 }}
        {{- if has "audience" $component.stages }}
        - { name: state, mountPath: /app/state }
        {{- end }}
    {{- with $root.Values.extraContainers }}
    {{- tpl (toYaml .) $root | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "switchyard.volumes" (dict "root" $root "configMap" (include "switchyard.configMapName" $root)) | nindent 4 }}
    {{- if and (has "audience" $component.stages) (not (include "switchyard.hasStoreVolume" .)) }}
    - { name: state, emptyDir: { sizeLimit: {{ $root.Values.audienceStore.sizeLimit }} } }
    {{- end }}
{{- end -}}

{{/*
The pod of a Job, which runs one command and ends:
    (dict "root" $ "component" "audit" "serviceAccountName" "x" "args" list "settings" <values of the Job> "configMap" "x")
*/}}
{{- define "switchyard.jobPodTemplate" -}}
metadata:
  labels:
    {{- include "switchyard.momentaryLabels" . | nindent 4 }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ .serviceAccountName }}
  {{- include "switchyard.podSpecBase" .root | nindent 2 }}
  containers:
    - name: {{ .component }}
      args:
        {{- toYaml .args | nindent 8 }}
      {{- include "switchyard.containerBase" .root | nindent 6 }}
      env:
        {{- include "switchyard.env" (dict "root" .root "extraEnv" .root.Values.extraEnv) | nindent 8 }}
      {{- with .root.Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      resources:
        {{- toYaml .settings.resources | nindent 8 }}
      volumeMounts:
        {{- include "switchyard.volumeMounts" .root | nindent 8 }}
  volumes:
    {{- include "switchyard.volumes" (dict "root" .root "configMap" .configMap) | nindent 4 }}
{{- end -}}

{{/* Not empty: the component's store lies on a volume of its own. */}}
{{- define "switchyard.hasStoreVolume" -}}
{{- if and (eq .component.kind "StatefulSet") .root.Values.audienceStore.persistent }}true{{ end -}}
{{- end -}}

{{/* What every pod has, the momentary ones, too. No environment of other Services: one named like a setting would count as one. */}}
{{- define "switchyard.podSpecBase" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "switchyard.containerBase" -}}
image: {{ include "switchyard.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (dict "root" $ "extraEnv" list). Ports and paths are those of the pod, whatever the configuration says. */}}
{{- define "switchyard.env" -}}
- { name: SWITCHYARD_CONFIG, value: /etc/switchyard/switchyard.yaml }
- { name: SWITCHYARD_INGEST_PORT, value: {{ .root.Values.containerPorts.ingest | quote }} }
- { name: SWITCHYARD_ADMIN_PORT, value: {{ .root.Values.containerPorts.admin | quote }} }
- { name: SWITCHYARD_AUDIENCE_STATE_DIR, value: /app/state/audience }
{{- with .extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The page: every interface of its pod, and the admin ports of all pods of this release by one name. */}}
{{- define "switchyard.consoleEnv" -}}
- { name: SWITCHYARD_CONSOLE_HOST, value: "::" }
- { name: SWITCHYARD_CONSOLE_PORT, value: {{ .Values.containerPorts.console | quote }} }
{{- if not (get (default (dict) .Values.config.console) "processes") }}
- { name: SWITCHYARD_CONSOLE_ADMIN_ADDRESSES, value: "{{ include "switchyard.fullname" . }}-admin.{{ .Release.Namespace }}:{{ .Values.containerPorts.admin }}" }
{{- end }}
{{- end -}}

{{/* Folders, never a subPath: Kubernetes changes no file that is mounted by one. */}}
{{- define "switchyard.volumeMounts" -}}
- { name: config, mountPath: /etc/switchyard, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- if .Values.existingSecret }}
- { name: secret, mountPath: /run/secrets/switchyard, readOnly: true }
{{- end }}
{{- range $index, $mount := .Values.secretMounts }}
- { name: secret-{{ $index }}, mountPath: {{ $mount.mountPath }}, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* (dict "root" $ "configMap" name) */}}
{{- define "switchyard.volumes" -}}
- name: config
  configMap: { name: {{ .configMap }} }
- { name: tmp, emptyDir: { sizeLimit: {{ .root.Values.tmpSizeLimit }} } }
{{- with .root.Values.existingSecret }}
- name: secret
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- range $index, $mount := .root.Values.secretMounts }}
- name: secret-{{ $index }}
  secret:
    secretName: {{ $mount.secretName }}
    defaultMode: 0440
    {{- with $mount.items }}
    items:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The configuration file, and those in `configFiles`, which it includes. */}}
{{- define "switchyard.configData" -}}
{{- $config := .Values.config -}}
{{- if .Values.configFiles -}}
{{- $config = mustMergeOverwrite (dict) $config (dict "include" (concat (default (list) $config.include) (keys .Values.configFiles | sortAlpha))) -}}
{{- end -}}
switchyard.yaml: |
  {{- toYaml $config | nindent 2 }}
{{- range $name, $content := .Values.configFiles }}
{{ $name }}: |
  {{- toYaml $content | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Those of all files, as a list. */}}
{{- define "switchyard.destinations" -}}
{{- $all := default (list) .Values.config.destinations -}}
{{- range .Values.configFiles }}{{ $all = concat $all (default (list) .destinations) }}{{ end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* With `configReload` that of the settings which need a restart: it changes when pods have to. */}}
{{- define "switchyard.configChecksum" -}}
{{- $counted := .Values.config -}}
{{- $files := .Values.configFiles -}}
{{- if .Values.configReload }}{{ $counted = omit .Values.config "sources" "destinations" "audiences" }}{{ $files = dict }}{{ end -}}
{{- list $counted $files | toYaml | sha256sum -}}
{{- end -}}
