{{/*
Seconds of lag of a component, for KEDA: (dict "root" $ "component" <of switchyard.components>)

    stage                      counts
    route, deletion, deliver   the age of the oldest record that is not finished
    deliver, on hold           0: more replicas would not deliver more
    delay                      how late records come back; waiting is its work
    ingest, audience           nothing: validate.tpl asks for a query

The lag of a destination on hold is multiplied by 0, so that there is a number as long as lags are known.
*/}}
{{- define "switchyard.lagQuery" -}}
{{- $matchers := printf `namespace="%s",pod=~"%s-.+"` .root.Release.Namespace .component.name -}}
{{- with .component.settings.keda.matchers }}{{ $matchers = tpl . $.root }}{{ end -}}
{{- $stages := list -}}
{{- range list "route" "deletion" "deliver" }}{{ if has . $.component.stages }}{{ $stages = append $stages . }}{{ end }}{{ end -}}
{{- if $stages -}}
{{- $age := printf `max by (stage, destination) (switchyard_consumer_oldest_unprocessed_age_seconds{stage=~"%s",%s})` (join "|" $stages) $matchers -}}
{{- $held := printf `(max by (destination) (switchyard_destination_on_hold{%s}) == 1)` $matchers -}}
{{- if has "deliver" $stages -}}
max((({{ $age }}) unless on (destination) {{ $held }}) or (0 * ({{ $age }})))
{{- else -}}
max({{ $age }})
{{- end -}}
{{- else -}}
(histogram_quantile(0.99, sum by (le) (rate(switchyard_delay_overdue_seconds_bucket{ {{- $matchers -}} }[5m]))) >= 0) or on () vector(0)
{{- end -}}
{{- end -}}
