package sallyport

import (
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Handle serves one request: it reads it from stream 0 and writes the response to stream 1. size is the length of the
// request in bytes, or 0 if unknown. An error reports only a failed stream. All other errors are part of the
// response.
func (p *Plugin) Handle(h Host, size int64) error {
	request, err := readAll(h, requestStream, size)
	if err != nil {
		return err
	}
	return writeAll(h, responseStream, p.respond(h, request))
}

// respond returns {"result": …} or {"error": …}.
func (p *Plugin) respond(h Host, request []byte) []byte {
	var o jsontext.Object
	result, err := p.answer(h, request)
	if err != nil {
		raw, _ := jsontext.Marshal(err) // two strings and valid JSON always encode
		o.Raw("error", raw)
	} else {
		o.Raw("result", result)
	}
	return o.Bytes()
}

func (p *Plugin) answer(h Host, request []byte) ([]byte, *Error) {
	c := &Call{host: h}
	var params []byte
	err := jsontext.Members(request, func(key string, value []byte) error {
		switch key {
		case "method":
			c.method, _ = jsontext.Unquote(value) // an invalid method is an unknown one
		case "params":
			params = value
		}
		return nil
	})
	if err != nil {
		return nil, &Error{Code: CodeInvalidParams, Message: "request: " + err.Error()}
	}
	if len(params) > 0 {
		if err := c.params.read(params); err != nil {
			return nil, &Error{Code: CodeInvalidParams, Message: "params: " + err.Error()}
		}
	}
	result, err := p.dispatch(c)
	if err != nil {
		return nil, asError(c, err)
	}
	return result, nil
}

func (p *Plugin) dispatch(c *Call) ([]byte, error) {
	switch c.method {
	case "plugin/describe":
		return p.manifest(), nil
	case "tools/call":
		return p.serveNamed(c, p.tools, "tool")
	case "prompts/get":
		return p.serveNamed(c, p.prompts, "prompt")
	case "resources/read":
		return p.readResource(c)
	case "completion/complete":
		return p.complete(c)
	}
	return nil, &Error{Code: CodeMethodNotFound, Message: "method not found: " + c.method}
}

func (p *Plugin) serveNamed(c *Call, list []*definition, what string) ([]byte, error) {
	d := find(list, c.params.Name)
	if d == nil {
		return nil, &Error{Code: CodeInvalidParams, Message: "unknown " + what + ": " + c.params.Name}
	}
	return d.serve(c)
}
