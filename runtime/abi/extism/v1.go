package extism

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// serveV1 serves a plugin of the first version, which has tools only:
//
//	plugin/describe  describe: ""                                  → {tools: [{name, description, inputSchema}]}
//	tools/call       call: {params: {name, arguments?, _meta?}}    → {content: [{type, …}], isError?}
func serveV1(ctx context.Context, s *session, req runtime.Request) (json.RawMessage, error) {
	switch req.Method {
	case "plugin/describe":
		_, o, err := s.object(ctx, "describe")
		if err != nil {
			return nil, err
		}
		return appendLists(nil, []list{{"tools", o.Get("tools")}}), nil
	case "tools/call":
		out, o, err := s.object(ctx, "call", []byte(`{"params":`), orEmpty(req.Params), []byte("}"))
		if err != nil {
			return nil, err
		}
		return tidyResult(out, o), nil
	}
	return nil, noMethod(req.Method)
}
