package grant

import (
	"maps"
	"strconv"
	"strings"
)

// Limits of one config line: values are options of a plugin, not data.
const (
	maxValues = 256
	maxValue  = 32 << 10
)

func configForm() lineForm {
	return lineForm{
		family: Config, example: "config: {name: value}", structured: true,
		parse: func(n Node) (rule, error) { return parseConfig(n) },
	}
}

// configRule is the value of a config line.
type configRule struct {
	values  map[string]string
	secrets map[string]string // of values that are secrets: the name of the secret
}

// parseConfig reads the names and values of a config line.
func parseConfig(n Node) (*configRule, error) {
	if n.Kind != Map {
		return nil, failf(n.Line, "config takes names and values: write config: {name: value}")
	}
	if len(n.Nodes) > maxValues {
		return nil, failf(n.Line, "more than %d config values", maxValues)
	}
	r := &configRule{map[string]string{}, map[string]string{}}
	for _, m := range n.Nodes {
		if err := checkValue(m); err != nil {
			return nil, err
		}
		_, twice := r.values[m.Key]
		if _, secret := r.secrets[m.Key]; twice || secret {
			return nil, failf(m.Line, "%q is there twice", m.Key)
		}
		if m.Kind == Map {
			r.secrets[m.Key] = m.Nodes[0].Value
		} else {
			r.values[m.Key] = m.Value
		}
	}
	return r, nil
}

// value returns the line in the form that parseConfig reads.
func (r *configRule) value() string {
	parts := map[string]string{}
	for key, value := range r.values {
		parts[key] = formatWord(value)
	}
	for key, name := range r.secrets {
		parts[key] = "{secret: " + formatWord(name) + "}"
	}
	return joinMap(parts)
}

// Config returns the values of config lines. The last of several lines for a name applies.
func (l Lines) Config() map[string]string {
	values := map[string]string{}
	for _, g := range l {
		if r, ok := g.rule.(*configRule); ok {
			maps.Copy(values, r.values)
		}
	}
	return values
}

// ConfigSecrets returns the config values that are secrets: the name of the secret by config name.
func (l Lines) ConfigSecrets() map[string]string {
	out := map[string]string{}
	for _, g := range l {
		if r, ok := g.rule.(*configRule); ok {
			maps.Copy(out, r.secrets)
		}
	}
	return out
}

func checkValue(n Node) error {
	if n.Kind == Map && len(n.Nodes) == 1 && n.Nodes[0].Key == "secret" {
		if problem := CheckConfig(n.Key, ""); problem != "" {
			return failf(n.Line, "%s", problem)
		}
		_, err := parseSecret(n.Nodes[0])
		return err
	}
	if n.Kind != Scalar {
		return failf(n.Line, "the value of %q is plain text or a number", n.Key)
	}
	if n.Null {
		return failf(n.Line, "config %q has no value: write one, in quotes if it is the word", n.Key)
	}
	if err := CheckConfig(n.Key, n.Value); err != "" {
		return failf(n.Line, "%s", err)
	}
	return nil
}

// CheckConfig returns the reason that a config name or value is invalid, or an empty string. A plugin sees them as its
// environment: a name contains no "=", neither contains a zero byte, and PWD is set by the host.
func CheckConfig(name, value string) string {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00") || len(name) > maxValue:
		return "config name " + strconv.Quote(name) + " cannot be in an environment"
	case name == "PWD":
		return "config name \"PWD\" is set by the host: choose another"
	case strings.ContainsRune(value, 0):
		return "the value of config name " + strconv.Quote(name) + " holds a zero byte"
	case len(value) > maxValue:
		return "the value of config name " + strconv.Quote(name) + " is longer than " + strconv.Itoa(maxValue) + " bytes"
	}
	return ""
}
