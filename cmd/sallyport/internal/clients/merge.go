package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// ErrNoEntry is returned when the file has no entry of that name.
var ErrNoEntry = errors.New("there is no such entry")

// TakenError is returned when the entry of that name serves a different folder.
type TakenError struct {
	Name string // of the entry
	Dir  string // the folder it serves
}

// Error names the entry and its folder.
func (e *TakenError) Error() string {
	return fmt.Sprintf("the entry %q serves another folder, %s", e.Name, e.Dir)
}

// entryName matches names that every client accepts and that need no quotes in TOML.
var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// CheckName returns an error for a name that some client would not accept.
func CheckName(name string) error {
	if !entryName.MatchString(name) {
		return fmt.Errorf("%q is no name for an entry: write letters, digits, - and _, 64 at most", name)
	}
	return nil
}

// reach lists the members of an entry that define the server's command or address, for all clients.
var reach = []string{"type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "http_headers"}

// byteOrderMark precedes UTF-8 text of some editors.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Merge returns the text of a client's file with a named entry for s, every other byte unchanged. An empty text is a
// new file. Other members of an existing entry stay. It returns ErrUnchanged if the entry is the same, and with replace
// false a *TakenError if the entry serves a different folder.
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

// Remove returns the text of a client's file without a named entry, or ErrNoEntry.
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

// edit applies change to a text behind its byte order mark. It returns ErrUnchanged if the result is the same.
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

// find returns a named entry as JSON; nil if absent.
func (c Client) find(text []byte, name string) (json.RawMessage, error) {
	if c.toml {
		return findTable(text, c.section, name)
	}
	return findMember(text, c.section, name)
}

// served returns the folder argument of an entry that launches a host; "" if there is none.
func served(entry json.RawMessage) string {
	var e struct {
		Args []string `json:"args"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return ""
	}
	return Server{Args: e.Args}.dir()
}
