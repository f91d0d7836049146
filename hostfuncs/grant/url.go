package grant

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL bounds an address, in bytes; servers refuse longer ones.
const maxURL = 8 << 10

// Canonical returns u in the one form that lines are compared with and requests are sent in: scheme
// and host in lower case, no default port, no fragment, dot segments resolved, percent-encoding
// normalized once. The host must be ASCII (an international name in its xn-- form) or an address.
//
// It refuses what two readers could read differently: user information, numeric hosts that are no
// plain address, and dot segments that hide behind %2F, a backslash or a path parameter.
// Canonical of its own result is the same again.
func Canonical(u *url.URL) (*url.URL, error) {
	if u.User != nil {
		return nil, errors.New("user information in an address is not allowed: use a header")
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" || u.Opaque != "" {
		return nil, fmt.Errorf("scheme %q is not allowed: use http or https", scheme)
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port, err := canonicalPort(scheme, u.Port(), strings.HasSuffix(u.Host, ":"))
	if err != nil {
		return nil, err
	}
	escaped, err := canonicalPath(u.EscapedPath())
	if err != nil {
		return nil, err
	}
	c := &url.URL{Scheme: scheme, Host: joinHost(scheme, host, port), RawQuery: normalize(u.RawQuery, queryByte)}
	c.Path, c.RawPath = decode(escaped), escaped
	if len(c.String()) > maxURL {
		return nil, fmt.Errorf("the address is longer than %d bytes", maxURL)
	}
	return c, nil
}

// canonicalHost accepts a name or an address and returns it in lower case.
func canonicalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", fmt.Errorf("host %q is not an address", host)
		}
		return a.String(), nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if err := checkLabel(label, host); err != nil {
			return "", err
		}
	}
	if isNumber(labels[len(labels)-1]) {
		a, err := netip.ParseAddr(host)
		if err != nil {
			return "", fmt.Errorf("host %q is not an address: write four decimal numbers", host)
		}
		return a.String(), nil
	}
	if len(host) > 253 {
		return "", errors.New("the host name is longer than 253 bytes")
	}
	return host, nil
}

func checkLabel(label, host string) error {
	if label == "" || len(label) > 63 {
		return fmt.Errorf("host %q is not a name", host)
	}
	for i := range len(label) {
		if c := label[i]; c >= 0x80 {
			return fmt.Errorf("host %q is not ASCII: write it in its xn-- form", host)
		} else if !hostByte(c) {
			return fmt.Errorf("host %q is not a name", host)
		}
	}
	return nil
}

func hostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// isNumber reports whether some resolvers would take a host that ends in this label for an address.
func isNumber(label string) bool {
	if hex, found := strings.CutPrefix(label, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// isAddress reports whether a canonical host is an address.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// canonicalPort returns the effective port.
func canonicalPort(scheme, port string, empty bool) (string, error) {
	if port == "" && !empty {
		if scheme == "https" {
			return "443", nil
		}
		return "80", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return "", fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return port, nil
}

func joinHost(scheme, host, port string) string {
	if strings.Contains(host, ":") && host[0] != '{' {
		host = "[" + host + "]"
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return host
	}
	return host + ":" + port
}

// canonicalPath normalizes the encoding and resolves dot segments.
func canonicalPath(escaped string) (string, error) {
	segments := strings.Split(normalize(escaped, pathByte), "/")
	if segments[0] != "" {
		return "", errors.New("the path does not begin with a slash")
	}
	if len(segments) == 1 {
		return "/", nil
	}
	segments = resolveDots(segments[1:])
	for _, s := range segments {
		if hidesDots(decode(s)) {
			return "", fmt.Errorf("path segment %q hides a dot segment", s)
		}
	}
	return "/" + strings.Join(segments, "/"), nil
}

// resolveDots removes . and .. as a browser does: a last one leaves an empty segment behind.
func resolveDots(segments []string) []string {
	out := segments[:0:0]
	for i, s := range segments {
		if s == ".." && len(out) > 0 {
			out = out[:len(out)-1]
		}
		if s != "." && s != ".." {
			out = append(out, s)
		} else if i == len(segments)-1 {
			out = append(out, "")
		}
	}
	return out
}

// hidesDots reports whether a server that decodes the segment, takes a backslash for a slash, or
// strips a parameter would find a dot segment in it.
func hidesDots(segment string) bool {
	for part := range strings.FieldsFuncSeq(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
		part, _, _ = strings.Cut(part, ";")
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// normalize writes unreserved characters plainly, keeps what plain allows, and encodes the rest. What is
// encoded already stays so, in upper case. The result normalizes to itself.
func normalize(s string, plain func(byte) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if unreserved(c) {
				b.WriteByte(c)
			} else {
				writeEscape(&b, c)
			}
		} else if unreserved(c) || plain(c) {
			b.WriteByte(c)
		} else {
			writeEscape(&b, c)
		}
	}
	return b.String()
}

// decode undoes every escape of a normalized text.
func decode(s string) string {
	d, err := url.PathUnescape(s)
	if err != nil {
		return s // cannot be: normalize left no bad escape
	}
	return d
}

func writeEscape(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.Write([]byte{'%', digits[c>>4], digits[c&15]})
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func pathByte(c byte) bool { return strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 }

// queryByte leaves out the semicolon, which some servers read as another &.
func queryByte(c byte) bool { return strings.IndexByte("/?!$&'()*+,=:@", c) >= 0 }
