package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// headerMark marks a property of an input schema whose value clients repeat in an HTTP header.
const headerMark = "x-mcp-header"

// maxHeaderDepth is how deep properties are searched for marks. Schemas nest a few levels; the
// catalogue refuses deep ones.
const maxHeaderDepth = 32

// HeaderParam is one argument of a tool that modern clients repeat in an HTTP header.
type HeaderParam struct {
	Header string   // what follows "Mcp-Param-" in the header's name; compared without case
	Path   []string // keys from the arguments object down to the value
	Type   string   // string, integer or boolean
}

// HeaderParams returns the arguments of the tool with that public name that come in headers too, in
// the order of the schema; nil if there are none or no such tool. The caller must not change it.
func (s *Server) HeaderParams(tool string) []HeaderParam {
	return s.current().headers[tool]
}

// headerParams finds the marks that properties alone lead to; elsewhere they mean nothing.
func headerParams(schema json.RawMessage) []HeaderParam {
	return appendHeaderParams(nil, schema, nil)
}

func appendHeaderParams(list []HeaderParam, schema json.RawMessage, path []string) []HeaderParam {
	if len(path) == maxHeaderDepth {
		return list
	}
	s := rawjson.ScanObject(rawjson.Get(schema, "properties"))
	for s.Next() {
		at := append(path[:len(path):len(path)], s.KeyString())
		if p, ok := headerParam(s.Value, at); ok {
			list = append(list, p)
		}
		list = appendHeaderParams(list, s.Value, at)
	}
	return list
}

func headerParam(property json.RawMessage, path []string) (HeaderParam, bool) {
	name, ok := rawjson.String(rawjson.Get(property, headerMark))
	if !ok || name == "" {
		return HeaderParam{}, false
	}
	switch kind, _ := rawjson.String(rawjson.Get(property, "type")); kind {
	case "string", "integer", "boolean":
		return HeaderParam{Header: name, Path: path, Type: kind}, true
	}
	return HeaderParam{}, false
}
