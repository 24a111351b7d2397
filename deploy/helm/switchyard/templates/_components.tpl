{{/*
The workloads, as YAML under `list`: one for all stages, or one for each; and that of the page.

    name, component    of its resources, of its labels
    kind               Deployment, or StatefulSet where a store lies on a volume
    stages             that it runs
    settings           the values of all stages, and over them those of the stage
*/}}
{{- define "switchyard.components" -}}
{{- $fullname := include "switchyard.fullname" . -}}
{{- $base := pick .Values "replicaCount" "resources" "autoscaling" "keda" "podDisruptionBudget" "extraEnv" "podAnnotations" "podLabels" "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints" "priorityClassName" -}}
{{- $enabled := list -}}
{{- range $stage := include "switchyard.stageNames" . | splitList "," -}}
{{- if get (get $.Values.stages $stage) "enabled" }}{{ $enabled = append $enabled $stage }}{{ end -}}
{{- end -}}
{{- $list := list -}}
{{- if .Values.stages.separate -}}
{{- range $stage := $enabled -}}
{{- $settings := mergeOverwrite (deepCopy $base) (deepCopy (omit (get $.Values.stages $stage) "enabled")) -}}
{{- $list = append $list (dict "name" (printf "%s-%s" $fullname $stage) "component" $stage "kind" (ternary "StatefulSet" "Deployment" (eq $stage "audience")) "stages" (list $stage) "settings" $settings) -}}
{{- end -}}
{{- else if $enabled -}}
{{- $list = append $list (dict "name" $fullname "component" "all" "kind" "Deployment" "stages" $enabled "settings" $base) -}}
{{- end -}}
{{- if .Values.console.enabled -}}
{{- /* The console joins no group and serves people, so it is not scaled. */}}
{{- $settings := mergeOverwrite (deepCopy $base) (deepCopy (omit .Values.console "enabled" "service")) (dict "autoscaling" (dict "enabled" false) "keda" (dict "enabled" false)) -}}
{{- $list = append $list (dict "name" (printf "%s-console" $fullname) "component" "console" "kind" "Deployment" "stages" (list "console") "settings" $settings) -}}
{{- end -}}
{{- dict "list" $list | toYaml -}}
{{- end -}}

{{/* As the product lists them. */}}
{{- define "switchyard.stageNames" -}}
ingest,route,audience,deletion,deliver,delay
{{- end -}}

{{/* The component that runs ingest; empty: none does. */}}
{{- define "switchyard.ingestComponent" -}}
{{- if .Values.stages.ingest.enabled -}}
{{- ternary "ingest" "all" .Values.stages.separate -}}
{{- end -}}
{{- end -}}
