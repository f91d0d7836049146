package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A TOML file is edited by lines and then parsed again: its content besides the entry must be unchanged.

// expression is a table header or a key of a TOML file.
type expression struct {
	at    int      // offset of its line
	table bool     // a header [a.b], else a key
	key   []string // full path from the root
}

// expressions lists the table headers and keys of a TOML file.
func expressions(text []byte) (all []expression, err error) {
	p := unstable.Parser{}
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		node := p.Expression()
		e := expression{at: -1, table: node.Kind != unstable.KeyValue}
		for key := node.Key(); key.Next(); {
			if e.at < 0 {
				e.at = bytes.LastIndexByte(text[:key.Node().Raw.Offset], '\n') + 1
			}
			e.key = append(e.key, string(key.Node().Data))
		}
		if e.table {
			table = e.key
		} else {
			e.key = slices.Concat(table, e.key)
		}
		all = append(all, e)
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("not TOML (%w)"+byHand, err)
	}
	return all, nil
}

// tomlValues parses a file.
func tomlValues(text []byte) (map[string]any, error) {
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("not TOML (%w)"+byHand, err)
	}
	return values, nil
}

// findTable returns the table of an entry as JSON; nil if absent.
func findTable(text []byte, section, name string) (json.RawMessage, error) {
	values, err := tomlValues(text)
	if err != nil {
		return nil, err
	}
	servers, _ := values[section].(map[string]any)
	if servers[name] == nil {
		return nil, nil
	}
	return json.Marshal(servers[name])
}

// setTable replaces the reach keys in the table of an entry, or adds the table at the end.
func setTable(text []byte, section, name string, entry json.RawMessage) ([]byte, error) {
	old, err := findTable(text, section, name)
	if err != nil {
		return nil, err
	}
	lines, err := tomlLines(entry)
	if err != nil {
		return nil, err
	}
	changed, from := text, -1
	if old != nil {
		if sameReach(old, entry) {
			return text, nil
		}
		if changed, from, err = cutTable(text, section, name, reach); err != nil {
			return nil, err
		}
	}
	if from >= 0 {
		changed = slices.Concat(changed[:from], lines, changed[from:])
	} else {
		changed = addTable(changed, section+"."+name, lines)
	}
	return changed, onlyEntry(text, changed, section, name)
}

// addTable appends a table to a file.
func addTable(text []byte, name string, lines []byte) []byte {
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) > 0 {
		text = append(bytes.Clone(text), "\n\n"...)
	}
	return slices.Concat(text, []byte("["+name+"]\n"), lines)
}

// sameReach reports whether two entries have the same command or address.
func sameReach(old, entry json.RawMessage) bool {
	var a, b map[string]any
	if json.Unmarshal(old, &a) != nil || json.Unmarshal(entry, &b) != nil {
		return false
	}
	for _, key := range reach {
		if !reflect.DeepEqual(a[key], b[key]) {
			return false
		}
	}
	return true
}

// tomlLines formats the members of an entry as lines.
func tomlLines(entry json.RawMessage) ([]byte, error) {
	var e struct {
		Command string            `json:"command" toml:"command,omitempty"`
		Args    []string          `json:"args" toml:"args,omitempty"`
		URL     string            `json:"url" toml:"url,omitempty"`
		Headers map[string]string `json:"http_headers" toml:"http_headers,inline,omitempty"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return nil, err
	}
	return toml.Marshal(e)
}

// cutTable removes keys from the table of an entry, or the whole table if keys is nil. It returns the offset at which
// the table's keys begin; -1 if it has no header any more.
func cutTable(text []byte, section, name string, keys []string) (out []byte, first int, err error) {
	all, err := expressions(text)
	if err != nil {
		return nil, -1, err
	}
	first = -1
	from := 0
	for i, e := range all {
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1].at
		}
		if len(e.key) < 2 || e.key[0] != section || e.key[1] != name {
			continue
		}
		if keys != nil && (len(e.key) == 2 || !slices.Contains(keys, e.key[2])) {
			if e.table && len(e.key) == 2 {
				first = len(out) + bytes.IndexByte(append(bytes.Clone(text[e.at:]), '\n'), '\n') + 1 + e.at - from
			}
			continue
		}
		out = append(out, text[from:e.at]...)
		from = e.at + len(own(text[e.at:end]))
	}
	out = append(out, text[from:]...)
	return out, min(first, len(out)), nil
}

// own trims the trailing comments and blank lines of an expression, which belong to the next one.
func own(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for len(lines) > 1 {
		last := bytes.TrimSpace(lines[len(lines)-1])
		if len(last) > 0 && last[0] != '#' {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return bytes.Join(lines, nil)
}

// removeTable removes the table of an entry.
func removeTable(text []byte, section, name string) ([]byte, error) {
	out, _, err := cutTable(text, section, name, nil)
	if err != nil {
		return nil, err
	}
	if kept := bytes.TrimRight(out, " \t\r\n"); len(kept) > 0 && bytes.HasPrefix(text, out) {
		out = append(bytes.Clone(kept), '\n') // the table was the last one, behind a line that addTable left empty
	}
	return out, onlyEntry(text, out, section, name)
}

// onlyEntry checks that two texts have the same content except for one entry.
func onlyEntry(before, after []byte, section, name string) error {
	a, err := tomlValues(before)
	if err != nil {
		return err
	}
	b, err := tomlValues(after)
	if err != nil {
		return errors.New("the file is written in a way that is not understood" + byHand)
	}
	for _, values := range []map[string]any{a, b} {
		if servers, ok := values[section].(map[string]any); ok {
			delete(servers, name)
			if len(servers) == 0 {
				delete(values, section)
			}
		}
	}
	if !reflect.DeepEqual(a, b) || strings.Count(string(after), "["+section+"."+name+"]") > 1 {
		return errors.New("the entry is written in a way that is not understood" + byHand)
	}
	return nil
}
