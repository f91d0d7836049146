package egress

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of the header fields of a guest.
const (
	maxFields     = 128
	maxFieldBytes = 64 << 10
)

// parseHeader reads {name: text|[text]}. Fields that frame a message or belong to a connection are set by the host: a
// guest that could set them could smuggle a second request.
func (r *Request) parseHeader(raw json.RawMessage) error {
	if jsonraw.IsNull(raw) {
		return nil
	}
	fields, err := jsonraw.ParseObject(raw)
	if err != nil {
		return runtime.AskErrorf(runtime.KindInvalid, "headers are an object of names and texts")
	}
	count, size := 0, 0
	for _, f := range fields {
		values, err := parseField(f)
		if err != nil {
			return err
		}
		for _, v := range values {
			count, size = count+1, size+len(f.Key)+len(v)
			r.Header.Add(f.Key, v)
		}
		if count > maxFields || size > maxFieldBytes {
			return runtime.AskErrorf(runtime.KindLimit, "the headers are more than %d fields or %d bytes", maxFields, maxFieldBytes)
		}
	}
	return nil
}

// parseField reads one field and rejects characters that could end it early.
func parseField(f jsonraw.Member) ([]string, error) {
	name := sanitize.Cut(f.Key, maxMethod)
	if !isToken(f.Key) {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "header name %q is not allowed", name)
	}
	if isHostField(f.Key) {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "header %q is set by the host: remove it", name)
	}
	if reroutes(f.Key) {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "header %q has some servers take another method, address or client than the one that was allowed: remove it", name)
	}
	var values []string
	if text, ok := jsonraw.String(f.Value); ok {
		values = []string{text}
	} else if err := json.Unmarshal(f.Value, &values); err != nil || values == nil {
		return nil, runtime.AskErrorf(runtime.KindInvalid, "header %q is not a text or a list of texts", name)
	}
	for _, v := range values {
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, runtime.AskErrorf(runtime.KindInvalid, "header %q holds a control character", name)
		}
	}
	return values, nil
}

// isToken reports whether s is a field name of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isHostField reports whether a field frames the message, belongs to the connection, addresses a proxy, or carries the
// trace context. Underscores count as hyphens, as some servers treat them.
func isHostField(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return strings.HasPrefix(name, "proxy-") || trace.HostField(name) || slices.Contains([]string{
		"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "content-length", "upgrade", "expect",
		"http2-settings", "via",
	}, name)
}

// crossesOrigins reports whether a field is kept by a redirect to a different origin. All others are dropped:
// Authorization and Cookie, and the names that services use for their keys.
func crossesOrigins(name string) bool {
	return slices.Contains([]string{
		"Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "Cache-Control", "Range",
		"Content-Type", "Content-Language", "Content-Encoding",
	}, name)
}

// forOrigin returns the fields that a redirect keeps.
func (r *Request) forOrigin(same, body bool) http.Header {
	kept := http.Header{}
	for name, values := range r.Header {
		if (same || crossesOrigins(name)) && (body || !strings.HasPrefix(name, "Content-")) {
			kept[name] = values
		}
	}
	return kept
}

// dropConnectionFields removes hop-by-hop fields.
func dropConnectionFields(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for name := range h {
		if l := strings.ToLower(name); l != "content-length" && l != "via" && isHostField(name) {
			delete(h, name)
		}
	}
}
