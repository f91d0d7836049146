package jsonraw

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Member is one key of an object with its value.
type Member struct {
	Key   string          // escapes decoded
	Value json.RawMessage // raw; nil is written as null
}

// Object is the members of one JSON object in document order. It is not safe for concurrent modification.
type Object []Member

// DuplicateKeyError is the error of ParseObject for an object with two equal keys.
type DuplicateKeyError struct {
	Key string
}

// Error returns a message with the key.
func (e *DuplicateKeyError) Error() string { return fmt.Sprintf("json: duplicate key %q", e.Key) }

// ParseObject splits an object into its members; the values are views into raw. It validates all of raw. The error
// is a *SyntaxError, or a *DuplicateKeyError for equal keys at the top level. For deeper ones use DuplicateKey.
func ParseObject(raw []byte) (Object, error) {
	var o Object
	s := ScanObject(raw)
	for s.Next() {
		o = append(o, Member{s.KeyString(), s.Value})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if key, found := o.Duplicate(); found {
		return nil, &DuplicateKeyError{key}
	}
	return o, nil
}

// Get returns the value of key, or nil if there is none.
func (o Object) Get(key string) json.RawMessage {
	if i := o.index(key); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Set replaces the value of key in place, or appends a new member.
func (o *Object) Set(key string, v json.RawMessage) {
	if i := o.index(key); i >= 0 {
		(*o)[i].Value = v
		return
	}
	*o = append(*o, Member{key, v})
}

// Delete removes key, if present.
func (o *Object) Delete(key string) {
	if i := o.index(key); i >= 0 {
		*o = slices.Delete(*o, i, i+1)
	}
}

func (o Object) index(key string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Key == key })
}

// Duplicate returns the first key that occurs a second time.
func (o Object) Duplicate() (key string, found bool) {
	if len(o) > fewKeys {
		return o.duplicateAmongMany()
	}
	for i, m := range o {
		if o[:i].index(m.Key) >= 0 {
			return m.Key, true
		}
	}
	return "", false
}

func (o Object) duplicateAmongMany() (key string, found bool) {
	seen := make(map[string]struct{}, len(o))
	for i, m := range o {
		if seen[m.Key] = struct{}{}; len(seen) == i {
			return m.Key, true
		}
	}
	return "", false
}

// Append appends the object as JSON without added white space. Values are copied verbatim.
func (o Object) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Append(dst)
	}
	return append(dst, '}')
}

// Append appends "key":value.
func (m Member) Append(dst []byte) []byte {
	dst = AppendString(dst, m.Key)
	dst = append(dst, ':')
	if len(m.Value) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, m.Value...)
}
