package result

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxResult is the maximum size of a plugin's answer, in bytes. It fits one transport message. The output limit of
// plugins is far lower, but this limit also covers in-process plugins.
const MaxResult = 16<<20 - 64<<10

// maxBlocks is the maximum number of content blocks, messages or contents per answer. It limits the work of
// checking each.
const maxBlocks = 10_000

// ShapeError is a contract violation in an answer. Its text addresses plugin authors and follows "the plugin's
// answer breaks the contract: ".
type ShapeError struct{ Problem string }

// Error returns the problem.
func (e *ShapeError) Error() string { return e.Problem }

func misshapen(format string, args ...any) error {
	return &ShapeError{Problem: fmt.Sprintf(format, args...)}
}

// parse parses an unchecked plugin answer.
func parse(raw json.RawMessage) (jsonraw.Object, error) {
	if len(raw) > MaxResult {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "the answer is too large"}
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, misshapen("it is not a JSON object (%v)", err)
	}
	for _, key := range []string{"content", "messages", "contents", "completion"} { // parsed by clients
		if path, twice := jsonraw.AmbiguousKey(o.Get(key)); twice {
			return nil, misshapen("%s holds a key that readers can take for another one: %s", key, sanitize.Visible(sanitize.Cut(path, 64)))
		}
	}
	return o, nil
}

// eachObject calls check for each element of the array at key. Elements must be objects.
func eachObject(o jsonraw.Object, key string, check func(e json.RawMessage) error) error {
	raw := o.Get(key)
	if !jsonraw.IsArray(raw) {
		return misshapen("%s must be an array", key)
	}
	s := jsonraw.ScanArray(raw)
	for i := 0; s.Next(); i++ {
		if i == maxBlocks {
			return misshapen("%s has more than %d entries", key, maxBlocks)
		}
		if !jsonraw.IsObject(s.Value) {
			return misshapen("%s[%d] must be an object", key, i)
		}
		if err := check(s.Value); err != nil {
			return misshapen("%s[%d]%s", key, i, err)
		}
	}
	return nil
}

// checkContent checks one content block. It allows only the types of the specification, as clients reject a whole
// answer for one unknown type.
func checkContent(block json.RawMessage) error {
	if err := exactNames(block); err != nil {
		return err
	}
	kind := jsonraw.Get(block, "type")
	if !jsonraw.IsString(kind) {
		return misshapen(".type must be a string")
	}
	switch string(kind) {
	case `"text"`:
		return needStrings(block, "text")
	case `"image"`, `"audio"`:
		if err := needStrings(block, "data", "mimeType"); err != nil {
			return err
		}
		return needBase64(block, "data")
	case `"resource_link"`:
		return needStrings(block, "uri", "name")
	case `"resource"`:
		resource := jsonraw.Get(block, "resource")
		if !jsonraw.IsObject(resource) {
			return misshapen(".resource must be an object")
		}
		if err := checkContents(resource); err != nil {
			return misshapen(".resource%s", err)
		}
	default:
		return misshapen(".type %s is none of text, image, audio, resource_link and resource", sanitize.Visible(sanitize.Cut(string(kind), 64)))
	}
	return nil
}

// checkContents checks one entry of a resource's contents.
func checkContents(entry json.RawMessage) error {
	if err := exactNames(entry); err != nil {
		return err
	}
	if err := needStrings(entry, "uri"); err != nil {
		return err
	}
	if !jsonraw.IsString(jsonraw.Get(entry, "text")) && !jsonraw.IsString(jsonraw.Get(entry, "blob")) {
		return misshapen(" needs text or blob, a string")
	}
	if jsonraw.IsString(jsonraw.Get(entry, "blob")) {
		return needBase64(entry, "blob")
	}
	return nil
}

// checkMessage checks one message of a prompt.
func checkMessage(message json.RawMessage) error {
	switch string(jsonraw.Get(message, "role")) {
	case `"user"`, `"assistant"`:
	default:
		return misshapen(".role must be user or assistant")
	}
	content := jsonraw.Get(message, "content")
	if !jsonraw.IsObject(content) {
		return misshapen(".content must be an object")
	}
	if err := checkContent(content); err != nil {
		return misshapen(".content%s", err)
	}
	return nil
}

// members are the folded names of the members of content blocks and contents.
var members = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range []string{"type", "text", "data", "mimeType", "uri", "name", "title", "description", "size", "icons", "annotations", "_meta", "resource", "blob"} {
		all[name], all[jsonraw.Fold(name)] = true, false
	}
	return all
}()

// exactNames refuses case variants of MCP members. A case-insensitive client would accept such a member, which has
// not been checked here.
func exactNames(o json.RawMessage) error {
	for s := jsonraw.ScanObject(o); s.Next(); {
		if members[string(s.Key)] { // exact match first, as it does not allocate
			continue
		}
		key := s.KeyString()
		if members[key] {
			continue
		}
		if _, known := members[jsonraw.Fold(key)]; known {
			return misshapen(" has a member %s, which is one of MCP's in another case", sanitize.Visible(sanitize.Cut(key, 64)))
		}
	}
	return nil
}

// needBase64 requires the standard base64 alphabet with padding, which all decoders accept.
func needBase64(o json.RawMessage, key string) error {
	if raw := jsonraw.Get(o, key); !isBase64(raw[1 : len(raw)-1]) {
		text, _ := jsonraw.String(raw) // decoded, as it may have escapes such as \/
		if !isBase64([]byte(text)) {
			return misshapen(".%s is not base64", key)
		}
	}
	return nil
}

func isBase64(text []byte) bool {
	data := bytes.TrimRight(text, "=")
	if len(text)%4 != 0 || len(text)-len(data) > 2 || len(data)%4 == 1 {
		return false
	}
	for _, c := range data {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}

func needStrings(o json.RawMessage, keys ...string) error {
	for _, key := range keys {
		if !jsonraw.IsString(jsonraw.Get(o, key)) {
			return misshapen(".%s must be a string", key)
		}
	}
	return nil
}
