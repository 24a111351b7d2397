{{/* What can be meant, and mostly is not; NOTES.txt names it. */}}
{{- define "switchyard.warnings" -}}
{{- $warnings := list -}}
{{- $namespace := .Release.Namespace -}}
{{- $names := list -}}
{{- with .Values.existingSecret }}{{ $names = append $names . }}{{ end -}}
{{- range .Values.secretMounts }}{{ $names = append $names .secretName }}{{ end -}}
{{- /* If the release is only rendered, nothing is known about the cluster. Helm keeps its own releases in Secrets, so a cluster has at least one. */}}
{{- if and $names .Values.checkSecrets -}}
{{- if lookup "v1" "Secret" $namespace "" -}}
{{- range $name := $names | uniq -}}
{{- if not (lookup "v1" "Secret" $namespace $name) -}}
{{- $warnings = append $warnings (printf "The Secret %s does not exist in %s. Pods cannot start without it." $name $namespace) -}}
{{- end -}}
{{- end -}}
{{- with .Values.existingSecret -}}
{{- $keys := keys (get (default (dict) (lookup "v1" "Secret" $namespace .)) "data" | default (dict)) -}}
{{- range regexFindAll `\$\{file:/run/secrets/switchyard/[^}]*\}` (toYaml (list $.Values.config $.Values.configFiles)) -1 | uniq -}}
{{- $key := . | trimPrefix "${file:/run/secrets/switchyard/" | trimSuffix "}" -}}
{{- if and $keys (not (has $key $keys)) -}}
{{- $warnings = append $warnings (printf "The Secret %s has no key %s, to which config refers." $.Values.existingSecret $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $written := list -}}
{{- range $secret := .Files.Get "files/secrets.json" | fromJsonArray -}}
{{- $written = concat $written (include "switchyard.written" (list $.Values.config $secret.path "" $secret) | splitList "\n") -}}
{{- range $file := keys $.Values.configFiles | sortAlpha -}}
{{- $written = concat $written (include "switchyard.written" (list (get $.Values.configFiles $file) $secret.path "" $secret) | splitList "\n") -}}
{{- end -}}
{{- end -}}
{{- $written = compact $written | uniq -}}
{{- range $index, $name := $written -}}
{{- if lt $index 10 -}}
{{- $warnings = append $warnings (printf "%s is in the ConfigMap. Put it into a Secret: ${file:/run/secrets/switchyard/KEY}." $name) -}}
{{- end -}}
{{- end -}}
{{- if gt (len $written) 10 -}}{{ $warnings = append $warnings (printf "%d more secrets are in the ConfigMap." (sub (len $written) 10)) }}{{ end -}}
{{- $sasl := default (dict) (get (default (dict) .Values.config.kafka) "sasl") -}}
{{- if and .Values.networkPolicy.enabled (or (hasKey $sasl "tokenUrl") (eq (toString $sasl.mechanism) "aws-msk-iam")) (not .Values.networkPolicy.extraEgress) -}}
{{- $warnings = append $warnings "Authentication to Kafka uses an endpoint that the NetworkPolicy may not allow. Add it to networkPolicy.extraEgress." -}}
{{- end -}}
{{- if and .Values.prometheusRule.enabled (not (.Files.Get "files/rules.yaml")) }}{{ $warnings = append $warnings "This chart has no alert rules." }}{{ end -}}
{{- $sources := default (list) .Values.config.sources -}}
{{- range .Values.configFiles }}{{ $sources = concat $sources (default (list) .sources) }}{{ end -}}
{{- if not (or .Values.existingConfigMap $sources) -}}
{{- $warnings = append $warnings "No source is configured, so the ingest stage rejects all calls." -}}
{{- end -}}
{{- toYaml $warnings -}}
{{- end -}}

{{/* The names of secrets that are written in a value, one on each line. Arguments: the value, the keys of the path below it, its name, and the entry of files/secrets.json. The path and the query of a URL are secret, but many are not: the warning is about those that look like a token, and about passwords. */}}
{{- define "switchyard.written" -}}
{{- $value := index . 0 -}}
{{- $keys := index . 1 -}}
{{- $name := index . 2 -}}
{{- $secret := index . 3 -}}
{{- if and (not $keys) (kindIs "string" $value) -}}
{{- $end := regexReplaceAll `^[A-Za-z]+://[^/?]*` $value "" -}}
{{- $isToken := regexMatch (eq (last $secret.path) "tokenUrl" | ternary `[?].*=` `[?].*=|[A-Za-z0-9_]{16}|[A-Za-z][0-9]+[A-Za-z]`) $end -}}
{{- $hasPassword := regexMatch `^[A-Za-z]+://[^/?]*:[^/?]*@` $value -}}
{{- if and $value (not (contains "${" $value)) (or (not $secret.isUrl) $isToken $hasPassword) }}{{ $name }}{{ end -}}
{{- else if not $keys -}}
{{- else if and (eq (first $keys) "*") (or (kindIs "slice" $value) (kindIs "map" $value)) -}}
{{- range $key, $entry := $value -}}
{{- $id := kindIs "map" $entry | ternary (get (kindIs "map" $entry | ternary $entry dict) "id") "" | default $key -}}
{{ include "switchyard.written" (list $entry (rest $keys) (printf "%s.%v" $name $id) $secret) }}
{{ end -}}
{{- else if kindIs "map" $value -}}
{{ include "switchyard.written" (list (get $value (first $keys)) (rest $keys) (printf "%s.%s" $name (first $keys) | trimPrefix ".") $secret) }}
{{- end -}}
{{- end -}}
