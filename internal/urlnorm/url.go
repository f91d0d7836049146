// Package urlnorm normalizes web addresses to the one form in which they are compared and requested, so that all
// readers interpret them alike.
//
//	u, err := urlnorm.URL(parsed) // HTTPS://Example.com:443/a/../b → https://example.com/b
//
// An ambiguous address is an error: see URL. Its parts have the same forms: Host, Port, Path, Query.
package urlnorm

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL bounds an address, in bytes. Servers refuse longer ones.
const maxURL = 8 << 10

// URL returns u in the canonical form in which grants are compared and requests are sent: scheme and host in lower
// case, no default port, no fragment, dot segments resolved, percent-encoding normalized once. The host must be ASCII
// (an international name in its xn-- form) or an IP address.
//
// The error reports an address that two readers could interpret differently: user information, numeric hosts that are
// not plain addresses, and dot segments hidden behind %2F, a backslash or a path parameter. URL is idempotent.
func URL(u *url.URL) (*url.URL, error) {
	if u.User != nil {
		return nil, errors.New("user information in an address is not allowed: use a header")
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" || u.Opaque != "" {
		return nil, fmt.Errorf("scheme %q is not allowed: use http or https", scheme)
	}
	host, err := Host(u.Hostname())
	if err != nil {
		return nil, err
	}
	port, err := Port(scheme, u.Port(), strings.HasSuffix(u.Host, ":"))
	if err != nil {
		return nil, err
	}
	escaped, err := canonicalPath(u.EscapedPath())
	if err != nil {
		return nil, err
	}
	c := &url.URL{Scheme: scheme, Host: Join(scheme, host, port), RawQuery: Query(u.RawQuery)}
	c.Path, c.RawPath = Decode(escaped), escaped
	if len(c.String()) > maxURL {
		return nil, fmt.Errorf("the address is longer than %d bytes", maxURL)
	}
	return c, nil
}

// Host validates a name or an IP address and returns it in lower case.
func Host(host string) (string, error) {
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
		if err := CheckLabel(label, host); err != nil {
			return "", err
		}
	}
	if IsNumber(labels[len(labels)-1]) {
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

// CheckLabel returns an error if a lower-case label cannot be part of a host. Errors name the host.
func CheckLabel(label, host string) error {
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

// IsNumber reports whether some resolvers would parse a host that ends in this label as an IP address.
func IsNumber(label string) bool {
	if hex, found := strings.CutPrefix(label, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// IsAddress reports whether a canonical host is an IP address.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Port returns the effective port of a scheme. empty means a colon without a port.
func Port(scheme, port string, empty bool) (string, error) {
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

// Join joins a host and its port. The scheme's default port is omitted, and an IPv6 address gets brackets.
func Join(scheme, host, port string) string {
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
	segments := strings.Split(Path(escaped), "/")
	if segments[0] != "" {
		return "", errors.New("the path does not begin with a slash")
	}
	if len(segments) == 1 {
		return "/", nil
	}
	segments = resolveDots(segments[1:])
	for _, s := range segments {
		if HidesDots(Decode(s)) {
			return "", fmt.Errorf("path segment %q hides a dot segment", s)
		}
	}
	return "/" + strings.Join(segments, "/"), nil
}

// resolveDots removes . and .. as a browser does: a trailing one leaves an empty segment.
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

// HidesDots reports whether a server that decodes a segment in one of the ways of Readings would find a dot segment
// in it.
func HidesDots(segment string) bool {
	if segment != "." && segment != ".." && !strings.ContainsFunc(segment, func(r rune) bool { return r >= 0x80 || !unreserved(byte(r)) }) {
		return false
	}
	for _, text := range append(decodings(segment), segment) {
		for _, whole := range cuts(text) {
			for part := range strings.FieldsFuncSeq(whole, isSlash) {
				if isDots(part) || isDots(withoutParameter(part)) || isDots(withoutStream(part)) {
					return true
				}
			}
		}
	}
	return false
}
