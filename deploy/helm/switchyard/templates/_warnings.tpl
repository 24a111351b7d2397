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
{{- range $destination := include "switchyard.destinations" . | fromYamlArray -}}
{{- if and $destination.sharedSecret (not (contains "${" $destination.sharedSecret)) -}}
{{- $warnings = append $warnings (printf "The shared secret of %s is in the ConfigMap. Put it into a Secret: ${file:/run/secrets/switchyard/KEY}." $destination.id) -}}
{{- end -}}
{{- end -}}
{{- $sasl := default (dict) (get (default (dict) .Values.config.kafka) "sasl") -}}
{{- range list "password" "clientSecret" -}}
{{- $secret := get $sasl . -}}
{{- if and $secret (not (contains "${" $secret)) -}}
{{- $warnings = append $warnings (printf "kafka.sasl.%s is in the ConfigMap. Put it into a Secret: ${file:/run/secrets/switchyard/KEY}." .) -}}
{{- end -}}
{{- end -}}
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
