package envelope

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// Supported protocol versions, newest first. They compare as strings.
const (
	V20260728 = "2026-07-28" // modern
	V20251125 = "2025-11-25"
	V20250618 = "2025-06-18"
	V20250326 = "2025-03-26"
	V20241105 = "2024-11-05"
)

// Versions returns all supported protocol versions, newest first.
func Versions() []string { return append([]string{V20260728}, legacy()...) }

func legacy() []string { return []string{V20251125, V20250618, V20250326, V20241105} }

// Negotiate returns the version for a legacy initialize: the requested one if supported, else the newest legacy
// version.
func Negotiate(requested string) string {
	if slices.Contains(legacy(), requested) {
		return requested
	}
	return V20251125
}

// IsModern reports whether a request is of the modern era: its params._meta has a protocol version, even an
// unsupported one.
func IsModern(m *jsonrpc.Message) bool {
	return jsonraw.Get(m.Params, "_meta", MetaVersion) != nil
}

func unsupported(requested string) *jsonrpc.Error {
	data := append([]byte(`{"supported":`), jsonraw.Strings(Versions())...)
	data = append(data, `,"requested":`...)
	data = append(jsonraw.AppendString(data, requested), '}')
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeUnsupportedVersion,
		Message: "unsupported protocol version",
		Data:    data,
	}
}
