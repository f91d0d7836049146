package extismfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/extism/go-sdk"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// wants converts hosts and paths to grant lines.
func (m *Manifest) wants(parsed *sdk.Manifest) error {
	if n := len(parsed.AllowedHosts) + len(parsed.AllowedPaths); n > maxWants {
		return fmt.Errorf("the manifest asks for %d hosts and paths, at most %d are read", n, maxWants)
	}
	for _, host := range parsed.AllowedHosts {
		line, err := HostGrant("GET,POST", host)
		m.want("net", line, fmt.Sprintf("allowed_hosts names %q", host), err)
	}
	for _, place := range slices.Sorted(maps.Keys(parsed.AllowedPaths)) {
		line, err := PathGrant(place, parsed.AllowedPaths[place])
		m.want("fs", line, fmt.Sprintf("allowed_paths names %q", place), err)
	}
	return nil
}

// want adds one want, or reports why it cannot be granted.
func (m *Manifest) want(family, line, why string, err error) {
	if err != nil {
		member, _, _ := strings.Cut(why, " ")
		m.problem("the manifest's %s: no grant can say this: %v", member, err)
		return
	}
	raw, err := json.Marshal(map[string]string{family: strings.TrimPrefix(line, family+": "), "why": why})
	if err != nil { // maps of strings always can
		return
	}
	m.Wants = append(m.Wants, raw)
}

// HostGrant returns the grant line closest to an Extism host, a name with * as wildcard; methods are as in the line.
// Other pattern syntax is an error: such patterns are never matched, since some take exponential time.
func HostGrant(methods, host string) (string, error) {
	if host == "*" {
		host = "**"
	}
	if strings.ContainsAny(host, "?[]{}!\\,/@# ") {
		return "", fmt.Errorf("%.200q is not a name with stars; write the names out", host)
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		host = "*.**." + rest // one or more labels
	}
	line := "net: " + methods + " https://" + host + "/**"
	if host == "**" {
		line = "net: " + methods + " https://**"
	}
	_, err := grant.ParseLine(line)
	return line, err
}

// PathGrant returns the grant line for a folder or file that Extism maps to a guest path. The prefix "ro:" means
// read-only.
func PathGrant(place, guest string) (string, error) {
	op := "write"
	if rest, ok := strings.CutPrefix(place, "ro:"); ok {
		op, place = "read", rest
	}
	if !strings.HasPrefix(place, "/") {
		return "", fmt.Errorf("%.200q depends on where the host was started; write the whole path", place)
	}
	line := "fs: " + op + " " + escape(strings.TrimSuffix(path.Clean(place), "/")) + "/**"
	if guest == "" || path.Clean(guest) == path.Clean(place) {
		_, err := grant.ParseLine(line)
		return line, err
	}
	line += " {as: " + strconv.Quote(path.Clean(guest)) + "}"
	if _, err := grant.ParseLine(line); err != nil {
		return "", fmt.Errorf("the guest would see %.200s as %.200s, and here a path is the same for both", place, guest)
	}
	return line, nil
}

// escape quotes the pattern characters in a path.
func escape(p string) string {
	return strings.NewReplacer("*", "{*}", "{", "{{}", "}", "{}}").Replace(p)
}
