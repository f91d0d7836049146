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
func (c Client) Entries(text []byte) ([]Entry, error) {
	body, _ := bytes.CutPrefix(text, byteOrderMark)
	raw, err := c.servers(body)
	if err != nil || raw == nil {
		return nil, err
	}
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(raw, &servers); err != nil {
		return nil, err
	}
	var found []Entry
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		var e struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(servers[name], &e) == nil && isHost(e.Command) {
			found = append(found, Entry{Name: name, Command: e.Command, Dir: served(servers[name])})
		}
	}
	return found, nil
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
