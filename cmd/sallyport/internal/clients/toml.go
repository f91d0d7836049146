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

// A TOML file is changed by lines and then read again: what it says besides the entry has to be the same as before.

// expression is a table or a key of a TOML file.
type expression struct {
	at    int      // where its line begins
	table bool     // it is [a.b], else a key
	key   []string // from the root
}

// expressions lists what stands in a TOML file.
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

// tomlValues are the values of a file.
func tomlValues(text []byte) (map[string]any, error) {
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("not TOML (%w)"+byHand, err)
	}
	return values, nil
}

// findTable is the table of an entry as JSON; nil if there is none.
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

// setTable puts the keys of an entry into its table, or adds the table at the end.
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

// addTable writes a table at the end of a file.
func addTable(text []byte, name string, lines []byte) []byte {
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) > 0 {
		text = append(bytes.Clone(text), "\n\n"...)
	}
	return slices.Concat(text, []byte("["+name+"]\n"), lines)
}

// sameReach reports whether an entry says the same of how the server is reached.
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

// tomlLines writes the members of an entry as lines.
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

// cutTable takes keys out of the table of an entry, all of it if none are named, and returns where its first line
// of keys was; -1 if the table has no header of its own any more.
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

// own is an expression without the comments and blank lines behind it, which belong to what follows.
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

// removeTable takes the table of an entry out.
func removeTable(text []byte, section, name string) ([]byte, error) {
	out, _, err := cutTable(text, section, name, nil)
	if err != nil {
		return nil, err
	}
	return out, onlyEntry(text, out, section, name)
}

// onlyEntry checks that two texts say the same, but for one entry.
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
