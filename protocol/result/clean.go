package result

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

// shapeOf returns the parts of a content block excluded from cleaning: the text of an embedded resource. Data is
// base64 and never changes.
func shapeOf(block json.RawMessage) *sanitize.Shape {
	if string(jsonraw.Get(block, "type")) != `"resource"` {
		return nil
	}
	return &sanitize.Shape{Members: map[string]*sanitize.Shape{"resource": contents()}}
}

// contents returns the sanitize.Shape of an entry of a resource's contents.
func contents() *sanitize.Shape {
	return &sanitize.Shape{Members: map[string]*sanitize.Shape{"text": sanitize.Leave}}
}

// cleanEach cleans the elements of a list with their shapes and returns the number of removed characters.
func cleanEach(list json.RawMessage, shape func(e json.RawMessage) *sanitize.Shape) (json.RawMessage, int) {
	if sanitize.Count(list) == 0 {
		return list, 0
	}
	elements, err := jsonraw.Elements(list)
	if err != nil {
		return list, 0
	}
	removed := 0
	for i, e := range elements {
		var n int
		elements[i], n = sanitize.JSON(e, shape(e))
		removed += n
	}
	if removed == 0 {
		return list, 0
	}
	return jsonraw.Array(elements), removed
}

// cleanContent removes invisible characters and disallowed icons from the blocks of a tool answer. It returns the
// number of removed characters and of invisible characters left in resources.
func cleanContent(o *jsonraw.Object) (removed, hidden int) {
	content := o.Get("content")
	all := sanitize.Count(content)
	if all > 0 {
		content, removed = cleanEach(content, shapeOf)
	}
	content, icons := cleanIcons(content, "")
	if removed+icons > 0 {
		o.Set("content", content)
	}
	return removed, all - removed
}

// cleanIcons removes disallowed icons from resource links. The blocks are the elements of a list, or a member of
// each element.
func cleanIcons(list json.RawMessage, below string) (_ json.RawMessage, removed int) {
	if !bytes.Contains(list, []byte("icons")) && !bytes.Contains(list, []byte(`\u00`)) {
		return list, 0
	}
	elements, err := jsonraw.Elements(list)
	if err != nil {
		return list, 0
	}
	for i, e := range elements {
		if below == "" {
			var n int
			elements[i], n = withoutIcons(e)
			removed += n
			continue
		}
		o, err := jsonraw.ParseObject(e)
		if err != nil {
			continue
		}
		if block, n := withoutIcons(o.Get(below)); n > 0 {
			o.Set(below, block)
			elements[i], removed = o.Append(nil), removed+n
		}
	}
	if removed == 0 {
		return list, 0
	}
	return jsonraw.Array(elements), removed
}

func withoutIcons(block json.RawMessage) (_ json.RawMessage, removed int) {
	kept, removed := untrusted.KeepIcons(jsonraw.Get(block, "icons"), untrusted.InlineIcon) // a URL could carry data of this call
	o, err := jsonraw.ParseObject(block)
	if removed == 0 || err != nil || o.Get("icons") == nil {
		return block, 0
	}
	if kept == nil {
		o.Delete("icons")
	} else {
		o.Set("icons", kept)
	}
	return o.Append(nil), removed
}

// cleanMessages cleans the messages of a prompt like cleanContent.
func cleanMessages(o *jsonraw.Object) {
	messages, n := cleanEach(o.Get("messages"), func(m json.RawMessage) *sanitize.Shape {
		return &sanitize.Shape{Members: map[string]*sanitize.Shape{"content": shapeOf(jsonraw.Get(m, "content"))}}
	})
	messages, icons := cleanIcons(messages, "content")
	if n+icons > 0 {
		o.Set("messages", messages)
	}
	untrusted.StripMetaBelow(o, "messages") // last, as cleaning may uncover a reserved key
}

// cleanContents cleans the contents of a resource, except their text.
func cleanContents(o *jsonraw.Object) {
	if list, n := cleanEach(o.Get("contents"), func(json.RawMessage) *sanitize.Shape { return contents() }); n > 0 {
		o.Set("contents", list)
	}
	untrusted.StripMetaBelow(o, "contents")
}

// payload reports whether a member has its own checks in this package.
func payload(member string) bool {
	switch member {
	case "content", "structuredContent", "messages", "contents", "completion":
		return true
	}
	return false
}

// pluginMembers are the result members that a plugin may set, in exact spelling.
var pluginMembers = map[string]bool{
	"content": true, "structuredContent": true, "messages": true, "contents": true, "completion": true, "isError": true,
	"_meta": true, "description": true, "ttlMs": true, "cacheScope": true,
}

// hostMembers are the folded names of result members that only the host may set, as they distinguish other kinds of
// results: a question to the client, a task, a list page. Case variants of plugins are included.
var hostMembers = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range []string{
		"resultType", "inputRequests", "inputResponses", "requestState", "task", "tasks", "taskId", "ttl", "pollInterval", "pollIntervalMs",
		"status", "statusMessage", "createdAt", "lastUpdatedAt", "nextCursor", "jsonrpc", "id", "method", "params", "error", "result",
	} {
		names[jsonraw.Fold(name)] = true
	}
	for name := range pluginMembers {
		names[jsonraw.Fold(name)] = true
	}
	return names
}()

// ownMembers removes members reserved for the host and cleans those without checks of their own.
func ownMembers(o *jsonraw.Object) (removed int) {
	*o = slices.DeleteFunc(*o, func(m jsonraw.Member) bool {
		return !pluginMembers[m.Key] && hostMembers[jsonraw.Fold(m.Key)]
	})
	for i, m := range *o {
		if payload(m.Key) {
			continue
		}
		value, n := sanitize.JSON(m.Value, nil)
		(*o)[i].Value = value
		removed += n
	}
	return removed + cleanNames(o)
}

// cleanNames removes members with invisible characters in their names, and counts these characters.
func cleanNames(o *jsonraw.Object) (removed int) {
	*o = slices.DeleteFunc(*o, func(m jsonraw.Member) bool {
		_, n := sanitize.Text(m.Key)
		removed += n
		return n > 0
	})
	return removed
}
