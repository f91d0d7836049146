package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// byHand ends the errors about a file that cannot be edited safely.
const byHand = "; add the entry by hand"

// setEntry merges the members of an entry into the existing one, or adds it.
func setEntry(text []byte, section, name string, entry json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	old, err := findMember(text, section, name)
	if err != nil {
		return nil, err
	}
	was, err := jsonraw.ParseObject(old)
	if old == nil || err != nil { // not an object: replace it
		return setMember(text, []string{section, name}, entry)
	}
	now, err := jsonraw.ParseObject(entry)
	if err != nil {
		return nil, err
	}
	for _, m := range was {
		if slices.Contains(reach, m.Key) && now.Get(m.Key) == nil {
			if text, err = removeMember(text, section, name, m.Key); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range now {
		if text, err = setMember(text, []string{section, name, m.Key}, m.Value); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// parsed parses JSON with comments and trailing commas.
func parsed(text []byte) (hujson.Value, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		return v, fmt.Errorf("not JSON (%s)"+byHand, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	return v, nil
}

// member returns a member of an object; nil if absent.
func member(v *hujson.Value, name string) (found *hujson.Value, err error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("not an object where servers are named" + byHand)
	}
	for i := range object.Members {
		if literal, _ := object.Members[i].Name.Value.(hujson.Literal); literal.String() == name {
			if found != nil {
				return nil, fmt.Errorf("%q is there twice"+byHand, name)
			}
			found = &object.Members[i].Value
		}
	}
	return found, nil
}

// findMember returns the value at a path as plain JSON; nil if absent.
func findMember(text []byte, path ...string) (json.RawMessage, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	root, err := parsed(text)
	if err != nil {
		return nil, err
	}
	v := &root
	for _, name := range path {
		if v, err = member(v, name); v == nil || err != nil {
			return nil, err
		}
	}
	return plainJSON(*v), nil
}

// plainJSON returns a value without comments and blanks.
func plainJSON(v hujson.Value) json.RawMessage {
	v = v.Clone()
	v.Minimize()
	return bytes.TrimSpace(v.Pack())
}

// setMember sets the value at a path, and creates missing objects on the way.
func setMember(text []byte, path []string, value json.RawMessage) ([]byte, error) {
	root, err := parsed(text)
	if err != nil {
		return nil, err
	}
	v := &root
	for depth, name := range path {
		next, err := member(v, name)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return insert(text, v, depth, path[depth:], value), nil
		}
		v = next
	}
	if sameJSON(plainJSON(*v), value) {
		return text, nil
	}
	margin := strings.Repeat("  ", len(path))
	return slices.Concat(text[:v.StartOffset], indented(value, margin), text[v.EndOffset:]), nil
}

// insert adds a member behind the last one of an object.
func insert(text []byte, v *hujson.Value, depth int, path []string, value json.RawMessage) []byte {
	for _, name := range slices.Backward(path[1:]) {
		value = slices.Concat([]byte("{"), jsonraw.AppendString(nil, name), []byte(":"), value, []byte("}"))
	}
	object := v.Value.(*hujson.Object) // checked by member
	margin := marginOf(object, depth)
	line := slices.Concat([]byte("\n"+margin), jsonraw.AppendString(nil, path[0]), []byte(": "), indented(value, margin))
	if len(object.Members) == 0 {
		at := v.EndOffset - 1
		return slices.Concat(bytes.TrimRight(text[:at], " \t\r\n"), line, []byte("\n"+strings.Repeat("  ", depth)), text[at:])
	}
	last := object.Members[len(object.Members)-1].Value
	at := last.EndOffset
	if last.AfterExtra != nil { // a comma follows
		at += len(last.AfterExtra) + 1
		line = append(line, ',')
	} else {
		line = append([]byte(","), line...)
	}
	return slices.Concat(text[:at], line, text[at:])
}

// marginOf returns the indentation of an object's members.
func marginOf(object *hujson.Object, depth int) string {
	if len(object.Members) > 0 {
		before := string(object.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 && strings.TrimSpace(before[i:]) == "" {
			return before[i+1:]
		}
	}
	return strings.Repeat("  ", depth+1)
}

func indented(value json.RawMessage, margin string) []byte {
	var out bytes.Buffer
	_ = json.Indent(&out, value, margin, "  ") // value is valid JSON from json.Marshal
	return out.Bytes()
}

// removeMember removes the member at a path, with the comma behind it.
func removeMember(text []byte, path ...string) ([]byte, error) {
	root, err := parsed(text)
	if err != nil {
		return nil, err
	}
	v := &root
	for _, name := range path[:len(path)-1] {
		if v, err = member(v, name); v == nil || err != nil {
			return text, err
		}
	}
	if object, ok := v.Value.(*hujson.Object); ok {
		for _, m := range object.Members {
			if literal, _ := m.Name.Value.(hujson.Literal); literal.String() == path[len(path)-1] && m.Value.AfterExtra != nil {
				return cut(text, m), nil
			}
		}
	}
	return removeLast(root, path)
}

// cut removes a member with the comma behind it, and its whole line if nothing else is on it.
func cut(text []byte, m hujson.ObjectMember) []byte {
	before, after := text[:m.Name.StartOffset], text[m.Value.EndOffset+len(m.Value.AfterExtra)+1:]
	line := bytes.TrimRight(before, " \t")
	if rest := bytes.TrimLeft(after, " \t\r"); bytes.HasSuffix(line, []byte("\n")) && bytes.HasPrefix(rest, []byte("\n")) {
		return slices.Concat(line, rest[1:])
	}
	return slices.Concat(before, after)
}

// removeLast removes a member with no comma behind it, and the comma before it.
func removeLast(root hujson.Value, path []string) ([]byte, error) {
	pointer := ""
	for _, name := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	patch, err := json.Marshal([]map[string]string{{"op": "remove", "path": pointer}})
	if err == nil {
		err = root.Patch(patch)
	}
	return root.Pack(), err
}

// sameJSON compares two JSON texts, ignoring blanks.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
