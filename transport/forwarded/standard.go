package forwarded

import "strings"

// parseForwarded reads the header Forwarded of RFC 7239. An entry that cannot be read is an unknown hop.
func parseForwarded(values []string) (hops []hop) {
	if len(values) == 0 {
		return nil
	}
	for _, element := range split(strings.Join(values, ","), ',') {
		hops = append(hops, parseElement(element))
	}
	if len(hops) > maxHops {
		hops = hops[len(hops)-maxHops:]
	}
	return hops
}

// parseElement reads one hop: for=192.0.2.1;proto=https;host=example.com. A parameter that is there twice makes the
// hop unknown.
func parseElement(s string) (h hop) {
	seen := map[string]bool{}
	for _, pair := range split(s, ';') {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		key = strings.ToLower(key)
		value, closed := unquote(value)
		if !ok || !closed || seen[key] {
			return hop{}
		}
		seen[key] = true
		switch key {
		case "for":
			h.addr = parseNode(value)
		case "proto":
			h.proto = parseProto(value)
		case "host":
			h.host = parseHost(value)
		}
	}
	return h
}

// split splits at a separator outside quoted strings.
func split(s string, at byte) (parts []string) {
	begin, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			parts = append(parts, s[begin:i])
			begin = i + 1
		}
	}
	return append(parts, s[begin:])
}

// unquote returns the value of a token or a quoted string. ok is false for a string that does not end.
func unquote(s string) (value string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, !strings.Contains(s, `"`)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), i == len(s)-1
		default:
			b.WriteByte(s[i])
		}
	}
	return "", false
}
