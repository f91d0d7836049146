package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// byHand ends the errors about a file that a program had better not change.
const byHand = "; add the entry by hand"

// setEntry puts the members of an entry into the one that is there, or adds it.
func setEntry(text []byte, section, name string, entry json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	old, err := findMember(text, section, name)
	if err != nil {
		return nil, err
	}
	was, err := rawjson.ParseObject(old)
	if old == nil || err != nil { // not an entry: there is nothing to keep
		return setMember(text, []string{section, name}, entry)
	}
	now, err := rawjson.ParseObject(entry)
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

// parsed reads JSON with comments and trailing commas, as editors write it.
func parsed(text []byte) (hujson.Value, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		return v, fmt.Errorf("not JSON (%s)"+byHand, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	return v, nil
}

// member finds a member of an object; nil if it is not there.
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

// findMember is the value at a path as plain JSON; nil if it is not there.
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

// plainJSON is a value without comments and blanks.
func plainJSON(v hujson.Value) json.RawMessage {
	v = v.Clone()
	v.Minimize()
	return bytes.TrimSpace(v.Pack())
}

// setMember puts a value at a path, and makes the objects that lead there.
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
		value = slices.Concat([]byte("{"), rawjson.AppendString(nil, name), []byte(":"), value, []byte("}"))
	}
	object := v.Value.(*hujson.Object) // member has looked
	margin := marginOf(object, depth)
	line := slices.Concat([]byte("\n"+margin), rawjson.AppendString(nil, path[0]), []byte(": "), indented(value, margin))
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

// marginOf is what stands in front of the members of an object.
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
	_ = json.Indent(&out, value, margin, "  ") // it was made by json.Marshal
	return out.Bytes()
}

// removeMember takes out the member at a path.
func removeMember(text []byte, path ...string) ([]byte, error) {
	root, err := parsed(text)
	if err != nil {
		return nil, err
	}
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

// sameJSON compares two JSON texts without their blanks.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
