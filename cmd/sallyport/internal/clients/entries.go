package clients

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is an entry of a client's file that launches a host.
type Entry struct {
	Name    string // in the client's file
	Command string
	Dir     string // the folder that it serves; "" if it names none
}

// Entries returns the entries of a client's file that launch this program by its name, sorted by name.
func (c Client) Entries(text []byte) ([]Entry, error) { return c.launching(text, isHost) }

// Serving returns the names of the entries of a client's file that launch this program, by its name or as s does, on the
// folder of s, sorted.
func (c Client) Serving(text []byte, s Server) (names []string, err error) {
	all, err := c.launching(text, func(command string) bool { return command == s.Command || isHost(command) })
	for _, e := range all {
		if dir := s.dir(); dir != "" && e.Dir == dir {
			names = append(names, e.Name)
		}
	}
	return names, err
}

// launching returns the entries whose command is a host, sorted by name.
func (c Client) launching(text []byte, host func(command string) bool) ([]Entry, error) {
	servers, err := c.entries(text)
	if err != nil {
		return nil, err
	}
	var found []Entry
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		var e struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(servers[name], &e) == nil && host(e.Command) {
			found = append(found, Entry{Name: name, Command: e.Command, Dir: served(servers[name])})
		}
	}
	return found, nil
}

// entries returns the servers of a client's file by their names.
func (c Client) entries(text []byte) (servers map[string]json.RawMessage, err error) {
	body, _ := bytes.CutPrefix(text, byteOrderMark)
	raw, err := c.servers(body)
	if err != nil || raw == nil {
		return nil, err
	}
	err = json.Unmarshal(raw, &servers)
	return servers, err
}

// servers returns the section of a client's file as JSON; nil if it has none.
func (c Client) servers(text []byte) (json.RawMessage, error) {
	if !c.toml {
		return findMember(text, c.section)
	}
	values, err := tomlValues(text)
	if err != nil || values[c.section] == nil {
		return nil, err
	}
	return json.Marshal(values[c.section])
}

// isHost reports by its name whether a command is this program.
func isHost(command string) bool {
	base := strings.ToLower(filepath.Base(strings.ReplaceAll(command, `\`, "/")))
	return strings.TrimSuffix(base, ".exe") == "sallyport"
}
