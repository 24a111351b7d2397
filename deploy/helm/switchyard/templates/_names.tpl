{{/* Names and labels. */}}

{{- define "switchyard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 40 characters: `-audience-0` and the hashes of pods follow. */}}
{{- define "switchyard.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "switchyard.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "switchyard.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "switchyard.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "switchyard.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "switchyard.configMapName" -}}
{{- default (printf "%s-config" (include "switchyard.fullname" .)) .Values.existingConfigMap -}}
{{- end -}}

{{- define "switchyard.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Labels that selectors have. They never change: selectors of workloads are immutable, and an upgrade
that changed one would fail.
    (dict "root" $ "component" "route")
*/}}
{{- define "switchyard.selectorLabels" -}}
app.kubernetes.io/name: {{ include "switchyard.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Pods that run for a moment, of Jobs and of `helm test`: no Service and no budget counts them. */}}
{{- define "switchyard.momentaryLabels" -}}
{{- $own := dict "app.kubernetes.io/name" (printf "%s-momentary" (include "switchyard.name" .root)) -}}
{{- merge $own (include "switchyard.labels" . | fromYaml) | toYaml -}}
{{- end -}}

{{/* Labels of a resource: (dict "root" $ "component" "route"), the component is optional. */}}
{{- define "switchyard.labels" -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/name" (include "switchyard.name" .root)
  "app.kubernetes.io/instance" .root.Release.Name -}}
{{- with .component }}{{ $_ := set $own "app.kubernetes.io/component" . }}{{ end -}}
{{- merge (dict) $own (default (dict) .labels) .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{/* Labels of a pod. The chart's version is none of them: another chart alone restarts nothing. */}}
{{- define "switchyard.podLabels" -}}
{{- omit (include "switchyard.labels" . | fromYaml) "helm.sh/chart" "app.kubernetes.io/managed-by" | toYaml -}}
{{- end -}}

{{/* The head of a resource: (dict "root" $ "name" "x" "component" "route" "labels" (dict) "annotations" (dict)) */}}
{{- define "switchyard.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "switchyard.labels" . | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
