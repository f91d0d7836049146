package sallyport

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Warm adds a function that runs once, after package initialization and before the host takes the state with which
// every call begins. It is the place for work that code otherwise does on first use, which would be in every call: the
// caches of encoding/json, of regexp and of fmt, tables, the growth of the heap. See [WarmWith] for a tool's own code.
//
// Nothing is granted during it, the clock stands still, and random numbers end it, since they would be the same in
// every call. If it panics, or takes longer than the host allows, the host logs that, and calls begin without it. It
// must leave nothing behind that a caller could notice, and no running goroutine. It should not call runtime.GC, which
// would empty pools, nor allocate megabytes, which could leave a collection under way in every call.
func Warm(f func()) Item {
	return itemFunc(func(p *Plugin) { p.warmUps = append(p.warmUps, f) })
}

// WarmWith makes the warm-up call the tool or prompt once with these arguments, any value that encodes to a JSON object,
// so that each call finds the code's caches filled. The result is dropped, and requests to the host are denied. The
// rules of [Warm] apply: in particular, a tool that counts its calls in a variable would begin at two.
func WarmWith(arguments any) Option {
	return Option{"WarmWith", kindTool | kindPrompt, func(d *definition) {
		raw, err := jsontext.Marshal(arguments)
		if err != nil || raw[0] != '{' {
			panic("sallyport: the arguments of WarmWith of " + d.kind.String() + " " + d.key + " are not an object")
		}
		d.examples = append(d.examples, raw)
	}}
}

// WarmUp runs the warm-up of the plugin, as the host does once before the first call: the coding of its types, then the
// calls of [WarmWith], then the functions of [Warm]. A module exports it; tests may call it.
func (p *Plugin) WarmUp() {
	p.warmCoding()
	p.rehearse("tools/call", p.tools)
	p.rehearse("prompts/get", p.prompts)
	for _, f := range p.warmUps {
		f()
	}
}

// warmCoding makes encoding/json analyse the types of results and of the host's responses, without running code of the
// plugin.
func (p *Plugin) warmCoding() {
	_ = decodeAnswer([]byte(denial), nil) // it is an error
	for _, list := range [][]*definition{p.tools, p.resources, p.templates} {
		for _, d := range list {
			d.warmEncoder()
		}
	}
	if len(p.resources)+len(p.templates) > 0 {
		_, _ = contentsJSON(&definition{}, "", "")
	}
	if len(p.prompts) > 0 {
		_, _ = promptJSON("")
	}
}

// warmEncoder makes encoding/json analyse a type: it builds the encoder of all that the type can contain before it finds
// that the pointer is nil. Its decoder uses the same analysis.
func warmEncoder[T any]() {
	_ = json.NewEncoder(io.Discard).Encode((*T)(nil)) // an error concerns the type only
}

// rehearse calls the definitions with the arguments of their WarmWith options.
func (p *Plugin) rehearse(method string, list []*definition) {
	for _, d := range list {
		for _, arguments := range d.examples {
			var params, request jsontext.Object
			params.Text("name", d.key)
			params.Raw("arguments", arguments)
			request.Text("method", method)
			request.Raw("params", params.Bytes())
			raw := request.Bytes()
			_ = p.Handle(&rehearsal{request: raw}, int64(len(raw))) // its streams do not fail
		}
	}
}

// rehearsal is the Host of a call in the warm-up: it denies all requests and drops the response.
type rehearsal struct {
	request []byte
	denials []*bytes.Reader // responses, by stream
}

const (
	firstStream = 2
	denial      = `{"error":{"code":-32000,"message":"nothing is granted in a warm-up","data":{"kind":"denied"}}}`
)

func (h *rehearsal) Read(stream uint32, p []byte) int32 {
	if stream == requestStream {
		n := copy(p, h.request)
		h.request = h.request[n:]
		return int32(n)
	}
	if i := int(stream) - firstStream; i >= 0 && i < len(h.denials) {
		n, _ := h.denials[i].Read(p) // the only error is io.EOF
		return int32(n)
	}
	return -int32(ErrnoBadStream)
}

func (h *rehearsal) Write(_ uint32, p []byte) int32 { return int32(len(p)) }

func (h *rehearsal) Call([]byte) int64 {
	h.denials = append(h.denials, bytes.NewReader([]byte(denial)))
	return int64(len(h.denials)-1+firstStream)<<32 | int64(len(denial))
}

func (h *rehearsal) Close(uint32) int32 { return 0 }
