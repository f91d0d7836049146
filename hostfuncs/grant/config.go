package grant

import (
	"strconv"
	"strings"
)

// Limits of one config line: values are options of a plugin, not data.
const (
	maxValues = 256
	maxValue  = 32 << 10
)

// parseConfig reads the names and values of a config line.
func parseConfig(n Node) (values, secrets map[string]string, err error) {
	if n.Kind != Map {
		return nil, nil, failf(n.Line, "config takes names and values: write config: {name: value}")
	}
	if len(n.Nodes) > maxValues {
		return nil, nil, failf(n.Line, "more than %d config values", maxValues)
	}
	values, secrets = map[string]string{}, map[string]string{}
	for _, m := range n.Nodes {
		if err := checkValue(m); err != nil {
			return nil, nil, err
		}
		_, twice := values[m.Key]
		if _, secret := secrets[m.Key]; twice || secret {
			return nil, nil, failf(m.Line, "%q is there twice", m.Key)
		}
		if m.Kind == Map {
			secrets[m.Key] = m.Nodes[0].Value
		} else {
			values[m.Key] = m.Value
		}
	}
	return values, secrets, nil
}

// configString returns the line in the form that parseConfig reads.
func (g *Grant) configString() string {
	parts := map[string]string{}
	for key, value := range g.config {
		parts[key] = formatWord(value)
	}
	for key, name := range g.secrets {
		parts[key] = "{secret: " + formatWord(name) + "}"
	}
	return joinMap(parts)
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
