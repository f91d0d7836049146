{{- define "sallyport.name" -}}
{{- if contains "sallyport" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-sallyport" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "sallyport.selector" -}}
app.kubernetes.io/name: sallyport
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "sallyport.labels" -}}
{{ include "sallyport.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end }}

{{- define "sallyport.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The configuration: the operator's keys, and over them those that belong to the files and addresses of the pod. */ -}}
{{- define "sallyport.config" -}}
{{- $most := .Values.replicas }}
{{- if .Values.autoscaling.enabled }}{{ $most = .Values.autoscaling.max }}{{ end }}
{{- if and (gt (int $most) 1) (not .Values.keys.secret) }}{{ fail "two replicas and more need keys.secret: the calls that wait for an answer are sealed with these keys" }}{{ end }}
{{- if and (gt (int $most) 1) .Values.state.claim }}{{ fail "state.claim is for one replica: leave it out and set config.store, or set replicas to 1" }}{{ end }}
{{- if not .Values.tokens.secret }}{{ fail "tokens.secret is missing: every address but loopback needs tokens" }}{{ end }}
{{- if and (not .Values.tls.secret) (not .Values.proxies) }}{{ fail "neither tls.secret nor proxies: set one, so that nothing but a named proxy speaks clear text" }}{{ end }}
{{- $http := dict "addr" "0.0.0.0:8470" "linger" .Values.stop.linger "drain" .Values.stop.drain "tokens" "/secrets/tokens/tokens" }}
{{- if .Values.tls.secret }}{{ $_ := set $http "tls_cert" "/secrets/tls/tls.crt" }}{{ $_ := set $http "tls_key" "/secrets/tls/tls.key" }}{{ else }}{{ $_ := set $http "behind_proxy" true }}{{ end }}
{{- if .Values.proxies }}{{ $_ := set $http "proxies" .Values.proxies }}{{ end }}
{{- if .Values.clients }}{{ $_ := set $http "clients" .Values.clients }}{{ end }}
{{- $own := dict "http" $http "admin" (dict "listen" "0.0.0.0:9470" "remote" true) "console" "off" "log" (dict "json" true) }}
{{- if .Values.keys.secret }}{{ $_ := set $own "state_keys" "/secrets/keys/keys" }}{{ end }}
{{- mergeOverwrite (deepCopy .Values.config) $own | toYaml }}
{{- end }}
