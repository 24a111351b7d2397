{{/* Ports of Kafka and of the registry, as YAML; an empty list: not known; null: not configured. */}}
{{- define "switchyard.outsidePorts" -}}
{{- $kafka := .Values.networkPolicy.kafka.ports -}}
{{- if not $kafka -}}
{{- $brokers := get (default (dict) .Values.config.kafka) "brokers" -}}
{{- $kafka = include "switchyard.portsOf" (dict "texts" (ternary (list $brokers) $brokers (kindIs "string" $brokers))) | fromYamlArray -}}
{{- end -}}
{{- $registry := .Values.networkPolicy.registry.ports -}}
{{- if and (not $registry) .Values.config.registry -}}
{{- $urls := .Values.config.registry.url -}}
{{- $registry = include "switchyard.portsOf" (dict "texts" (ternary (list $urls) $urls (kindIs "string" $urls))) | fromYamlArray -}}
{{- else if not $registry -}}
{{- $registry = false -}}
{{- end -}}
{{- dict "kafka" $kafka "registry" $registry | toYaml -}}
{{- end -}}

{{/* Ports of the operator's own services, as YAML: the operator's webhook, the token endpoints of Kafka and of the registry, the collector of traces. */}}
{{- define "switchyard.servicePorts" -}}
{{- if .Values.networkPolicy.services.ports -}}
{{- .Values.networkPolicy.services.ports | toYaml -}}
{{- else -}}
{{- $urls := list -}}
{{- range $path := list "kafka.sasl.tokenUrl" "registry.oauth.tokenUrl" "operatorEvents.webhook.url" "tracing.url" -}}
{{- $node := $.Values.config -}}
{{- range $key := splitList "." $path -}}
{{- $node = ternary (get (ternary $node (dict) (kindIs "map" $node)) $key) "" (kindIs "map" $node) -}}
{{- end -}}
{{- if kindIs "string" $node }}{{ $urls = append $urls $node }}{{ end -}}
{{- end -}}
{{- include "switchyard.portsOf" (dict "texts" $urls) -}}
{{- end -}}
{{- end -}}

{{/* The ports of addresses and URLs, each once: (dict "texts" list). */}}
{{- define "switchyard.portsOf" -}}
{{- $ports := list -}}
{{- range $text := .texts -}}
{{- range splitList "," $text -}}
{{- $bare := regexReplaceAll `^https?://([^/?#]*).*$` (trim .) "${1}" -}}
{{- $port := regexFind `:[0-9]+$` $bare | trimPrefix ":" -}}
{{- if $port -}}
{{- $ports = append $ports (int $port) -}}
{{- else if hasPrefix "https://" (trim .) -}}
{{- $ports = append $ports 443 -}}
{{- else if hasPrefix "http://" (trim .) -}}
{{- $ports = append $ports 80 -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $ports | uniq | toYaml -}}
{{- end -}}

{{/* A rule: (dict "to" peers "ports" list "protocols" list). No peers: anywhere. */}}
{{- define "switchyard.egressRule" -}}
{{- $protocols := default (list "TCP") .protocols -}}
- ports:
    {{- range $port := .ports }}
    {{- range $protocols }}
    - { port: {{ $port }}, protocol: {{ . }} }
    {{- end }}
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/*
Peers that webhooks may be sent to: what is public, as the product judges addresses, and what is opened. An address of NAT64
(64:ff9b::/96) is judged by the IPv4 address that it contains. 6to4 (2002::/16) is not opened, because nobody routes it any more.
*/}}
{{- define "switchyard.destinationPeers" -}}
{{- $special := list "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "168.63.129.16/32" "169.254.0.0/16" "172.16.0.0/12"
  "192.0.0.0/24" "192.0.2.0/24" "192.31.196.0/24" "192.52.193.0/24" "192.88.99.0/24" "192.168.0.0/16" "192.175.48.0/24"
  "198.18.0.0/15" "198.51.100.0/24" "203.0.113.0/24" "224.0.0.0/4" "240.0.0.0/4" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      {{- toYaml $special | nindent 6 }}
- ipBlock:
    cidr: 64:ff9b::/96
    except:
      {{- range $special }}
      {{- $parts := regexSplit `[./]` . -1 }}
      {{- $high := add (mul 256 (index $parts 0)) (index $parts 1) }}
      {{- $low := add (mul 256 (index $parts 2)) (index $parts 3) }}
      - {{ printf "64:ff9b::%s/%d" (ternary "" (printf "%x:%x" $high $low) (eq $high 0)) (add 96 (index $parts 4)) }}
      {{- end }}
- ipBlock:
    cidr: 2000::/3
    except: ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
{{- $networks := get (default (dict) .Values.config.delivery) "allowNetworks" | default (list) -}}
{{- if kindIs "string" $networks }}{{ $networks = splitList "," $networks }}{{ end }}
{{- range concat $networks .Values.networkPolicy.destinations.allowNetworks | uniq }}
{{- $network := trim . }}
- ipBlock: { cidr: {{ ternary $network (printf "%s/%s" $network (ternary "128" "32" (contains ":" $network))) (contains "/" $network) | quote }} }
{{- end }}
{{- with .Values.networkPolicy.destinations.to }}
{{ toYaml . }}
{{- end }}
{{- end -}}
