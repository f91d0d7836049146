package protocol

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/search"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// The two tools that stand for all others when Options.Search is set. Their prefix is the host's own, so
// no plugin's tool has these names.
const (
	searchTool = "sallyport-search"
	callByName = "sallyport-call"
)

// Bounds on what one search gives: it lands in a model's context.
const (
	searchDefault = 8
	searchMost    = 32
	searchBytes   = 64 << 10
)

// searchDefinitions is the list that clients see in place of all tools.
func searchDefinitions() []json.RawMessage {
	return []json.RawMessage{
		json.RawMessage(`{"name":"` + callByName + `","title":"Call a tool",` +
			`"description":"Calls a tool that sallyport-search found, with arguments that fit its inputSchema.",` +
			`"inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"the tool's name"},` +
			`"arguments":{"type":"object","description":"the tool's arguments"}},"required":["name"]}}`),
		json.RawMessage(`{"name":"` + searchTool + `","title":"Search for tools",` +
			`"description":"Finds tools by words of their names and descriptions, the best first, each with its inputSchema. Call one with sallyport-call.",` +
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"words; empty lists all"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":` + strconv.Itoa(searchMost) + `,"description":"how many at most; 8 if absent"}},"required":["query"]},` +
			`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`),
	}
}

// searching serves the host's own two tools. It is done if it answered; else the request has become the
// one that it stood for.
func (r *request) searching(name string) (body []byte, done bool, err error) {
	if !r.server.opts.Search {
		return nil, false, nil
	}
	arguments := rawjson.Get(r.params, "arguments")
	switch name {
	case searchTool:
		body, err = r.search(arguments)
		return body, true, err
	case callByName:
		return nil, false, r.rename(arguments)
	}
	return nil, false, nil
}

// rename makes a call of sallyport-call the call that it describes. What else its params hold stays.
func (r *request) rename(arguments json.RawMessage) error {
	name := rawjson.Get(arguments, "name")
	if !rawjson.IsString(name) {
		return jsonrpc.InvalidParams("params.arguments.name must be a string")
	}
	o, err := rawjson.ParseObject(r.params)
	if err != nil {
		return jsonrpc.InvalidParams("%v", err)
	}
	o.Set("name", name)
	inner := rawjson.Get(arguments, "arguments")
	if rawjson.IsNull(inner) {
		inner = json.RawMessage("{}")
	}
	o.Set("arguments", inner)
	r.params = o.Append(nil)
	return nil
}

// search answers with the definitions that fit a query.
func (r *request) search(arguments json.RawMessage) ([]byte, error) {
	query, ok := rawjson.String(rawjson.Get(arguments, "query"))
	if !ok {
		return nil, jsonrpc.InvalidParams("params.arguments.query must be a string")
	}
	limit, err := strconv.Atoi(cmp.Or(string(rawjson.Get(arguments, "limit")), strconv.Itoa(searchDefault)))
	if err != nil || limit < 1 || limit > searchMost {
		return nil, jsonrpc.InvalidParams("params.arguments.limit must be a whole number from 1 to %d", searchMost)
	}
	found := r.found(query, limit)
	o := rawjson.Object{
		{Key: "content", Value: answer.Content(answer.Text(string(found)))},
		{Key: "structuredContent", Value: found},
	}
	return r.frame(o, false), nil
}

// found is {"tools": […], "total": n} for a query.
func (r *request) found(query string, limit int) json.RawMessage {
	v := r.server.current()
	tools := v.snapshot.Tools
	ranked := search.Rank(v.searchable, query)
	var list []json.RawMessage
	size := 0
	for _, i := range ranked[:min(limit, len(ranked))] {
		if size += len(tools[i].Definition); size > searchBytes && len(list) > 0 {
			break
		}
		list = append(list, rawjson.OneLine(append(json.RawMessage(nil), tools[i].Definition...)))
	}
	return rawjson.Object{
		{Key: "tools", Value: rawjson.Array(list)},
		{Key: "total", Value: strconv.AppendInt(nil, int64(len(ranked)), 10)},
	}.Append(nil)
}

// searchable is what a search reads of each tool.
func searchable(tools []*catalogue.Tool) []search.Tool {
	list := make([]search.Tool, len(tools))
	for i, t := range tools {
		list[i].Name = t.Name
		list[i].Title, _ = rawjson.String(rawjson.Get(t.Definition, "title"))
		list[i].Description, _ = rawjson.String(rawjson.Get(t.Definition, "description"))
	}
	return list
}
