package trace

import "strings"

// validState reports whether a text is a valid tracestate: up to 32 members KEY=VALUE with distinct keys.
func validState(s string) bool {
	if s == "" || len(s) > maxState {
		return false
	}
	keys := map[string]bool{}
	for member := range strings.SplitSeq(s, ",") {
		if member = strings.Trim(member, " \t"); member == "" {
			continue // W3C allows empty members
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok || !stateKey(key) || !stateValue(value) || keys[key] {
			return false
		}
		keys[key] = true
	}
	return len(keys) > 0 && len(keys) <= maxStates
}

// maxStateText bounds a key and a value of a tracestate, in bytes.
const maxStateText = 256

func stateKey(s string) bool {
	if s == "" || len(s) > maxStateText || strings.ContainsAny(s[:1], "_-*/@") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_-*/@", r)
	})
}

func stateValue(s string) bool {
	if s == "" || len(s) > maxStateText || strings.HasSuffix(s, " ") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7e || r == ',' || r == '=' })
}

// validBaggage reports whether a text is valid baggage: up to 64 members KEY=VALUE, each with optional properties
// after semicolons.
func validBaggage(s string) bool {
	if s == "" || len(s) > maxBaggage {
		return false
	}
	n := 0
	for member := range strings.SplitSeq(s, ",") {
		n++
		parts := strings.Split(member, ";")
		for i, part := range parts {
			key, value, ok := strings.Cut(strings.Trim(part, " \t"), "=")
			if !ok && i == 0 || !token(strings.TrimRight(key, " \t")) || !baggageValue(strings.TrimLeft(value, " \t")) {
				return false
			}
		}
	}
	return n <= maxItems
}

// token reports whether s is a token (RFC 9110, section 5.6.2).
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func baggageValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > 0x7e || strings.ContainsRune(`",;\`, r) })
}
