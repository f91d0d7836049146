package hostfuncs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Input returns a file as the standard input of the program. Its first read opens the file, under the grants of the call
// and from the program's working directory. A file that cannot be read ends the call.
func (g *Gate) Input(path string) io.Reader { return &inputFile{gate: g, path: path} }

// inputFile reads a file of the guest in pieces, so that the host holds none of it.
type inputFile struct {
	gate *Gate
	path string
	file wasi.File // nil before the first read
	at   int64
}

// Len makes it a reader that package wasi reads within a host function of the guest, where an open may ask the operator.
func (*inputFile) Len() int { return 0 }

// Read implements io.Reader for a host function.
func (i *inputFile) Read(p []byte) (int, error) {
	if i.file == nil {
		i.file = i.open()
	}
	n, e := i.file.ReadAt(p, i.at)
	switch {
	case e != wasi.ESUCCESS:
		i.fail(e.Error())
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	i.at += int64(n)
	return n, nil
}

func (i *inputFile) open() wasi.File {
	path := i.path
	if !strings.HasPrefix(path, "/") {
		path = workDir + "/" + path
	}
	f, e := i.gate.WASI().Tree().Open(path, wasi.OpenOptions{Read: true})
	switch e {
	case wasi.ESUCCESS:
	case wasi.ENOENT:
		i.fail("it does not exist, or no grant allows reading it")
	default:
		i.fail(e.Error())
	}
	i.gate.life.onClose(func() { f.Close() })
	switch s, e := f.Stat(); {
	case e != wasi.ESUCCESS:
		i.fail(e.Error())
	case s.Type == wasi.TypeDirectory:
		i.fail("it is a folder")
	}
	return f
}

// fail ends the call. It does not return.
func (i *inputFile) fail(reason string) { noInput(runtime.KindInvalid, "file", i.path, reason) }

// noInput ends a call whose program has no standard input. It does not return.
func noInput(kind runtime.Kind, what, name, reason string) {
	runtime.Abort(&runtime.EndError{Kind: kind,
		Message: fmt.Sprintf("the %s %q, the standard input of the program, cannot be read: %s", what, printable(cut(name, maxAct)), reason)})
}

// InputResource returns a resource of a plugin as the standard input of the program. Its first read reads the resource,
// under the grants of the call. A resource that cannot be read, or has not one content, ends the call.
func (g *Gate) InputResource(ctx context.Context, uri string) io.Reader {
	return &inputResource{gate: g, ctx: ctx, uri: uri}
}

// inputResource is the content of a resource.
type inputResource struct {
	gate    *Gate
	ctx     context.Context // of the guest's call
	uri     string
	content *bytes.Reader // nil before the first read
}

// Len makes it a reader that package wasi reads within a host function of the guest.
func (*inputResource) Len() int { return 0 }

// Read implements io.Reader for a host function.
func (i *inputResource) Read(p []byte) (int, error) {
	if i.content == nil {
		i.content = bytes.NewReader(i.open())
	}
	return i.content.Read(p)
}

func (i *inputResource) open() []byte {
	answer, err := i.gate.Ask(i.ctx, "resources/read", jsonraw.Object{{Key: "uri", Value: jsonraw.AppendString(nil, i.uri)}}.Append(nil), nil)
	var ask *runtime.AskError
	switch {
	case i.ctx.Err() != nil:
		runtime.Abort(i.ctx.Err())
	case errors.As(err, &ask):
		noInput(ask.Kind, "resource", i.uri, ask.Message)
	case err != nil:
		runtime.Abort(err)
	}
	content, reason := contentOf(answer)
	if reason != "" {
		noInput(runtime.KindInvalid, "resource", i.uri, reason)
	}
	return content
}

// contentOf returns the bytes of an answer to resources/read, or the reason why they are no input.
func contentOf(answer json.RawMessage) (content []byte, reason string) {
	contents, err := jsonraw.Elements(jsonraw.Get(answer, "contents"))
	if err != nil || len(contents) != 1 {
		return nil, fmt.Sprintf("it has %d contents, and standard input takes one", len(contents))
	}
	if text, ok := jsonraw.String(jsonraw.Get(contents[0], "text")); ok {
		return []byte(text), ""
	}
	blob, ok := jsonraw.String(jsonraw.Get(contents[0], "blob"))
	if content, err = base64.StdEncoding.DecodeString(blob); err != nil || !ok {
		return nil, "its plugin answers with neither a text nor a blob in base64"
	}
	return content, ""
}
