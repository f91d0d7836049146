package answer

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxResult is how large a plugin's answer may be, in bytes: what fits one message of a transport.
// A plugin's own output limit is far below; this one holds for in-process plugins too.
const MaxResult = 16<<20 - 64<<10

// maxBlocks is how many content blocks, messages or contents one answer may have. It bounds the
// work of looking at each.
const maxBlocks = 10_000

// ShapeError says how an answer breaks the contract. The text is for people who write plugins, and
// reads behind "the plugin's answer breaks the contract: ".
type ShapeError struct{ Problem string }

// Error is the problem.
func (e *ShapeError) Error() string { return e.Problem }

func misshapen(format string, args ...any) error {
	return &ShapeError{Problem: fmt.Sprintf(format, args...)}
}

// parse reads a plugin's answer, which nobody has looked at before.
func parse(raw json.RawMessage) (rawjson.Object, error) {
	if len(raw) > MaxResult {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "the answer is too large"}
	}
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, misshapen("it is not a JSON object (%v)", err)
	}
	return o, nil
}

// eachObject calls check for every element of the array at key, which must hold objects only.
func eachObject(o rawjson.Object, key string, check func(e json.RawMessage) error) error {
	raw := o.Get(key)
	if !rawjson.IsArray(raw) {
		return misshapen("%s must be an array", key)
	}
	s := rawjson.ScanArray(raw)
	for i := 0; s.Next(); i++ {
		if i == maxBlocks {
			return misshapen("%s has more than %d entries", key, maxBlocks)
		}
		if !rawjson.IsObject(s.Value) {
			return misshapen("%s[%d] must be an object", key, i)
		}
		if err := check(s.Value); err != nil {
			return misshapen("%s[%d]%s", key, i, err)
		}
	}
	return nil
}

// checkContent checks one content block. Types it does not know are let through.
func checkContent(block json.RawMessage) error {
	kind := rawjson.Get(block, "type")
	if !rawjson.IsString(kind) {
		return misshapen(".type must be a string")
	}
	switch string(kind) {
	case `"text"`:
		return needStrings(block, "text")
	case `"image"`, `"audio"`:
		return needStrings(block, "data", "mimeType")
	case `"resource_link"`:
		return needStrings(block, "uri", "name")
	case `"resource"`:
		resource := rawjson.Get(block, "resource")
		if !rawjson.IsObject(resource) {
			return misshapen(".resource must be an object")
		}
		if err := checkContents(resource); err != nil {
			return misshapen(".resource%s", err)
		}
	}
	return nil
}

// checkContents checks one entry of a resource's contents.
func checkContents(entry json.RawMessage) error {
	if err := needStrings(entry, "uri"); err != nil {
		return err
	}
	if !rawjson.IsString(rawjson.Get(entry, "text")) && !rawjson.IsString(rawjson.Get(entry, "blob")) {
		return misshapen(" needs text or blob, a string")
	}
	return nil
}

// checkMessage checks one message of a prompt.
func checkMessage(message json.RawMessage) error {
	switch string(rawjson.Get(message, "role")) {
	case `"user"`, `"assistant"`:
	default:
		return misshapen(".role must be user or assistant")
	}
	content := rawjson.Get(message, "content")
	if !rawjson.IsObject(content) {
		return misshapen(".content must be an object")
	}
	if err := checkContent(content); err != nil {
		return misshapen(".content%s", err)
	}
	return nil
}

func needStrings(o json.RawMessage, keys ...string) error {
	for _, key := range keys {
		if !rawjson.IsString(rawjson.Get(o, key)) {
			return misshapen(".%s must be a string", key)
		}
	}
	return nil
}
