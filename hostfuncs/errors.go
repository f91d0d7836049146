package hostfuncs

import (
	"errors"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxAct bounds, in bytes, the part of a guest's own text that an error repeats.
const maxAct = 512

func askErrorf(kind runtime.Kind, format string, args ...any) *runtime.AskError {
	return runtime.AskErrorf(kind, format, args...)
}

// asAskError makes an error one that a guest can be told; what is not foreseen stays without detail.
func asAskError(err error) *runtime.AskError {
	var ask *runtime.AskError
	if errors.As(err, &ask) {
		return ask
	}
	return askErrorf(runtime.KindUnavailable, "the host could not do it")
}

// cut shortens text to n bytes, at a character.
func cut(s string, n int) string { return clean.Cut(s, n) }

// printable writes what could move a cursor or hide as an escape, so that text of a guest stays one
// visible line in logs and errors.
func printable(s string) string { return clean.Visible(s) }
