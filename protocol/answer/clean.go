package answer

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/icon"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// shapeOf says what stays as it is in a content block: what is in a resource, and only where the type says that there is
// one. Data is base64, which has nothing that goes.
func shapeOf(block json.RawMessage) *clean.Shape {
	if string(rawjson.Get(block, "type")) != `"resource"` {
		return nil
	}
	return &clean.Shape{Members: map[string]*clean.Shape{"resource": contents()}}
}

// contents is the shape of an entry of a resource's contents.
func contents() *clean.Shape {
	return &clean.Shape{Members: map[string]*clean.Shape{"text": clean.Leave}}
}

// cleanEach cleans the elements of a list, each in the shape that it has, and returns how many characters went.
func cleanEach(list json.RawMessage, shape func(e json.RawMessage) *clean.Shape) (json.RawMessage, int) {
	if clean.Count(list) == 0 {
		return list, 0
	}
	elements, err := rawjson.Elements(list)
	if err != nil {
		return list, 0
	}
	removed := 0
	for i, e := range elements {
		var n int
		elements[i], n = clean.JSON(e, shape(e))
		removed += n
	}
	if removed == 0 {
		return list, 0
	}
	return rawjson.Array(elements), removed
}

// cleanContent takes out of the blocks of a tool's answer what nobody sees, and icons that a client must not load. It
// returns how many characters went, and how many of that kind stay in what is in resources.
func cleanContent(o *rawjson.Object) (removed, hidden int) {
	content := o.Get("content")
	all := clean.Count(content)
	content, removed = cleanEach(content, shapeOf)
	content, icons := cleanIcons(content, "")
	if removed+icons > 0 {
		o.Set("content", content)
	}
	return removed, all - removed
}

// cleanIcons takes the icons out of links to resources that a client must not load. The blocks are the elements of a
// list, or below a member of each.
func cleanIcons(list json.RawMessage, below string) (_ json.RawMessage, removed int) {
	if !bytes.Contains(list, []byte("icons")) && !bytes.Contains(list, []byte(`\u00`)) {
		return list, 0
	}
	elements, err := rawjson.Elements(list)
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
		o, err := rawjson.ParseObject(e)
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
	return rawjson.Array(elements), removed
}

func withoutIcons(block json.RawMessage) (_ json.RawMessage, removed int) {
	kept, removed := icon.Keep(rawjson.Get(block, "icons"), icon.Inside) // what an address says could be of this call
	o, err := rawjson.ParseObject(block)
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

// cleanMessages does the same for the messages of a prompt.
func cleanMessages(o *rawjson.Object) {
	messages, n := cleanEach(o.Get("messages"), func(m json.RawMessage) *clean.Shape {
		return &clean.Shape{Members: map[string]*clean.Shape{"content": shapeOf(rawjson.Get(m, "content"))}}
	})
	messages, icons := cleanIcons(messages, "content")
	if n+icons > 0 {
		o.Set("messages", messages)
	}
	meta.StripBelow(o, "messages") // last: a key may have hidden as another
}

// cleanContents does the same for the contents of a resource, whose text stays as it is.
func cleanContents(o *rawjson.Object) {
	if list, n := cleanEach(o.Get("contents"), func(json.RawMessage) *clean.Shape { return contents() }); n > 0 {
		o.Set("contents", list)
	}
	meta.StripBelow(o, "contents")
}

// payload are the members of results that have a reader of their own here.
func payload(member string) bool {
	switch member {
	case "content", "structuredContent", "messages", "contents", "completion":
		return true
	}
	return false
}

// plugins are the members of a result that a plugin may write, spelled like this.
var plugins = map[string]bool{
	"content": true, "structuredContent": true, "messages": true, "contents": true, "completion": true, "isError": true,
	"_meta": true, "description": true, "ttlMs": true, "cacheScope": true,
}

// hosts are the members by which results of other kinds are told: a question to the client, a task, a page of a list. They are
// the host's to write. So are those that are a plugin's but for their case.
var hosts = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range []string{
		"resultType", "inputRequests", "inputResponses", "requestState", "task", "tasks", "taskId", "ttl", "pollInterval", "pollIntervalMs",
		"status", "statusMessage", "createdAt", "lastUpdatedAt", "nextCursor", "jsonrpc", "id", "method", "params", "error", "result",
	} {
		names[rawjson.Fold(name)] = true
	}
	for name := range plugins {
		names[rawjson.Fold(name)] = true
	}
	return names
}()

// ownMembers leaves a result the members that are a plugin's, and cleans those that nothing else here looks at.
func ownMembers(o *rawjson.Object) (removed int) {
	*o = slices.DeleteFunc(*o, func(m rawjson.Member) bool {
		return !plugins[m.Key] && hosts[rawjson.Fold(m.Key)]
	})
	for i, m := range *o {
		if payload(m.Key) {
			continue
		}
		value, n := clean.JSON(m.Value, nil)
		(*o)[i].Value = value
		removed += n
	}
	return removed + cleanNames(o)
}

// cleanNames does the same to the names of members; one that hid as another goes.
func cleanNames(o *rawjson.Object) (removed int) {
	*o = slices.DeleteFunc(*o, func(m rawjson.Member) bool {
		_, n := clean.Text(m.Key)
		removed += n
		return n > 0
	})
	return removed
}
