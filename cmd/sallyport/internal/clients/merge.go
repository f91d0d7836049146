package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// ErrNoEntry says that the file holds no entry of that name.
var ErrNoEntry = errors.New("there is no such entry")

// TakenError says that the entry of that name serves another folder.
type TakenError struct {
	Name string // of the entry
	Dir  string // the folder it serves
}

// Error names the entry and its folder.
func (e *TakenError) Error() string {
	return fmt.Sprintf("the entry %q serves another folder, %s", e.Name, e.Dir)
}

// entryName is a name that every client takes, and that needs no quotes in TOML.
var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// CheckName refuses a name that some client would not take.
func CheckName(name string) error {
	if !entryName.MatchString(name) {
		return fmt.Errorf("%q is no name for an entry: write letters, digits, - and _, 64 at most", name)
	}
	return nil
}

// reach are the members of an entry that say how the server is reached, in the words of all clients.
var reach = []string{"type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "http_headers"}

// byteOrderMark is what some editors write in front of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Merge returns the text of a client's file with the entry for s under a name in it, every other byte unchanged. An
// empty text is a new file. What the person added to the entry stays. ErrUnchanged: the entry is there already.
// With replace false an entry that serves another folder is a *TakenError.
func (c Client) Merge(text []byte, name string, s Server, replace bool) ([]byte, error) {
	entry, err := c.entry(s)
	if err != nil {
		return nil, err
	}
	return c.edit(text, func(text []byte) ([]byte, error) {
		old, err := c.find(text, name)
		if err != nil {
			return nil, err
		}
		if dir := served(old); !replace && s.URL == "" && dir != "" && dir != served(entry) {
			return nil, &TakenError{Name: name, Dir: dir}
		}
		if c.toml {
			return setTable(text, c.section, name, entry)
		}
		return setEntry(text, c.section, name, entry)
	})
}

// Remove returns the text of a client's file without the entry of a name. ErrNoEntry: there is none.
func (c Client) Remove(text []byte, name string) ([]byte, error) {
	return c.edit(text, func(text []byte) ([]byte, error) {
		old, err := c.find(text, name)
		if err != nil {
			return nil, err
		}
		if old == nil {
			return nil, ErrNoEntry
		}
		if c.toml {
			return removeTable(text, c.section, name)
		}
		return removeMember(text, c.section, name)
	})
}

// edit changes a text behind its byte order mark.
func (c Client) edit(text []byte, change func([]byte) ([]byte, error)) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, byteOrderMark)
	if !utf8.Valid(body) {
		return nil, errors.New("it is not UTF-8: save it as UTF-8, or add the entry by hand")
	}
	changed, err := change(body)
	switch {
	case err != nil:
		return nil, err
	case bytes.Equal(changed, body):
		return nil, ErrUnchanged
	case marked:
		return append(bytes.Clone(byteOrderMark), changed...), nil
	}
	return changed, nil
}

// find is the entry of a name as JSON; nil if there is none.
func (c Client) find(text []byte, name string) (json.RawMessage, error) {
	if c.toml {
		return findTable(text, c.section, name)
	}
	return findMember(text, c.section, name)
}

// served is the folder that an entry launches a host for; "" if it launches none.
func served(entry json.RawMessage) string {
	var e struct {
		Args []string `json:"args"`
	}
	if json.Unmarshal(entry, &e) != nil || len(e.Args) < 2 || e.Args[0] != "serve" {
		return ""
	}
	return e.Args[1]
}
