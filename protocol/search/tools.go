package search

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// The two tools that replace all others. Their prefix belongs to the host, so no plugin tool can have these names.
const (
	Find = "sallyport-search" // see Index.Answer
	Call = "sallyport-call"   // see Unwrap
)

// Limits of one search result, which goes to a model's context.
const (
	byDefault = 8
	most      = 32
	mostBytes = 64 << 10
)

// Definitions returns the tool list in place of all tools.
func Definitions() []json.RawMessage {
	return []json.RawMessage{
		json.RawMessage(`{"name":"` + Call + `","title":"Call a tool",` +
			`"description":"Calls a tool that sallyport-search found, with arguments that fit its inputSchema.",` +
			`"inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"the tool's name"},` +
			`"arguments":{"type":"object","description":"the tool's arguments"}},"required":["name"]}}`),
		json.RawMessage(`{"name":"` + Find + `","title":"Search for tools",` +
			`"description":"Finds tools by words of their names and descriptions, the best first, each with its inputSchema. Call one with sallyport-call.",` +
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"words; empty lists all"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":` + strconv.Itoa(most) + `,"description":"how many at most; 8 if absent"}},"required":["query"]},` +
			`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`),
	}
}

// Unwrap converts the params of a call of Call to those of the call it describes. Other members are kept.
func Unwrap(params json.RawMessage) (json.RawMessage, error) {
	name := jsonraw.Get(params, "arguments", "name")
	if !jsonraw.IsString(name) {
		return nil, jsonrpc.InvalidParams("params.arguments.name must be a string")
	}
	o, err := jsonraw.ParseObject(params)
	if err != nil {
		return nil, jsonrpc.InvalidParams("%v", err)
	}
	o.Set("name", name)
	inner := jsonraw.Get(params, "arguments", "arguments")
	if jsonraw.IsNull(inner) {
		inner = json.RawMessage("{}")
	}
	o.Set("arguments", inner)
	return o.Append(nil), nil
}

// Index is a searchable list of tools. It is immutable.
type Index struct {
	tools []*catalog.Tool
	words []entry // as tools
}

// NewIndex returns an index of these tools.
func NewIndex(tools []*catalog.Tool) *Index {
	x := &Index{tools: tools, words: make([]entry, len(tools))}
	for i, t := range tools {
		w := &x.words[i]
		w.Name = t.Name
		w.Title, _ = jsonraw.String(jsonraw.Get(t.Definition, "title"))
		w.Description, _ = jsonraw.String(jsonraw.Get(t.Definition, "description"))
	}
	return x
}

// Answer returns the result of a call of Find: the definitions that match its query.
func (x *Index) Answer(arguments json.RawMessage) (jsonraw.Object, error) {
	query, ok := jsonraw.String(jsonraw.Get(arguments, "query"))
	if !ok {
		return nil, jsonrpc.InvalidParams("params.arguments.query must be a string")
	}
	limit, err := strconv.Atoi(cmp.Or(string(jsonraw.Get(arguments, "limit")), strconv.Itoa(byDefault)))
	if err != nil || limit < 1 || limit > most {
		return nil, jsonrpc.InvalidParams("params.arguments.limit must be a whole number from 1 to %d", most)
	}
	found := x.find(query, limit)
	return jsonraw.Object{
		{Key: "content", Value: result.Content(result.Text(string(found)))},
		{Key: "structuredContent", Value: found},
	}, nil
}

// find returns {"tools": […], "total": n} for a query.
func (x *Index) find(query string, limit int) json.RawMessage {
	ranked := rank(x.words, query)
	var list []json.RawMessage
	size := 0
	for _, i := range ranked[:min(limit, len(ranked))] {
		definition := x.tools[i].Definition
		if size += len(definition); size > mostBytes && len(list) > 0 {
			break
		}
		list = append(list, jsonraw.OneLine(append(json.RawMessage(nil), definition...)))
	}
	return jsonraw.Object{
		{Key: "tools", Value: jsonraw.Array(list)},
		{Key: "total", Value: strconv.AppendInt(nil, int64(len(ranked)), 10)},
	}.Append(nil)
}
