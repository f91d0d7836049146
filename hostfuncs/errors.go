package hostfuncs

import (
	"errors"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxAct limits the guest text that an error repeats, in bytes.
const maxAct = 512

func askErrorf(kind runtime.Kind, format string, args ...any) *runtime.AskError {
	return runtime.AskErrorf(kind, format, args...)
}

// asAskError converts an error for the guest; unexpected errors are reported without detail.
func asAskError(err error) *runtime.AskError {
	var ask *runtime.AskError
	if errors.As(err, &ask) {
		return ask
	}
	return askErrorf(runtime.KindUnavailable, "the host could not do it")
}

// cut shortens text to n bytes, at a character boundary.
func cut(s string, n int) string { return sanitize.Cut(s, n) }

// printable escapes control and invisible characters, so that guest text stays one visible line in logs and errors.
func printable(s string) string { return sanitize.Visible(s) }
