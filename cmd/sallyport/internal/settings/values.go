package settings

import (
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Source is the origin of a value.
type Source string

// The sources of values, the strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "variable"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one effective setting.
type Value struct {
	Key    Key
	Text   string // as in the file
	Source Source
	Where  string // --http, SALLYPORT_HTTP_ADDR, or file:line; "" for a default
}

// Values are the effective host settings by name.
type Values struct {
	byName map[string]Value
	order  []string
}

// All returns every value in the order of Keys.
func (v *Values) All() []Value {
	out := make([]Value, 0, len(v.order))
	for _, name := range v.order {
		out = append(out, v.byName[name])
	}
	return out
}

func (v *Values) add(value Value) {
	if v.byName == nil {
		v.byName = map[string]Value{}
	}
	v.byName[value.Key.Name] = value
	v.order = append(v.order, value.Key.Name)
}

func (v *Values) setText(name, text string) {
	value := v.byName[name]
	value.Text = text
	v.byName[name] = value
}

// Text returns a setting as text, "" if it is unset. An unknown name is a programming error and returns "".
func (v *Values) Text(name string) string { return v.byName[name].Text }

// Source returns the origin of a setting.
func (v *Values) Source(name string) Source { return v.byName[name].Source }

// Bool returns a setting that is true or false.
func (v *Values) Bool(name string) bool { return v.Text(name) == "true" }

// List returns a setting that is a list, nil if it is unset.
func (v *Values) List(name string) []string {
	if v.Text(name) == "" {
		return nil
	}
	return strings.Split(v.Text(name), ",")
}

// Count returns a setting that is a whole number, 0 if it is unset.
func (v *Values) Count(name string) int { n, _ := ParseCount(v.Text(name)); return n }

// Bytes returns a setting that is a size in bytes, 0 if it is unset.
func (v *Values) Bytes(name string) int64 { n, _ := grant.ParseSize(v.Text(name)); return n }

// Keep returns the retention of a log: its maximum age and size in bytes, 0 for no limit.
func (v *Values) Keep(name string) (age time.Duration, size int64) {
	age, size, _ = ParseKeep(v.Text(name))
	return age, size
}

// Duration returns a setting that is a duration, 0 if it is unset.
func (v *Values) Duration(name string) time.Duration {
	d, _ := ParseDuration(v.Text(name))
	return d
}

// Differ returns the keys with different values in two settings.
func Differ(a, b *Settings) []string {
	var keys []string
	for _, name := range a.order {
		if a.Text(name) != b.Text(name) {
			keys = append(keys, name)
		}
	}
	return keys
}
