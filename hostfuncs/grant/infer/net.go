package infer

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// netLines proposes lines for "GET https://host/path?query".
func netLines(rest string, values []value) (all []string) {
	method, address, _ := strings.Cut(rest, " ")
	address, query, limited := strings.Cut(address, "?")
	scheme, place, _ := strings.Cut(address, "://")
	host, where, _ := strings.Cut(place, "/")
	if public(host) {
		for _, v := range values {
			if strings.Contains(v.text, "://") {
				all = append(all, "net: "+method+" {"+v.name+":url}"+within([]string{scheme + "://" + host + "/**"}))
			}
		}
	}
	segments := strings.Split(where, "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			if b, ok := named(values, plain, ""); ok {
				segments[i] = b
			}
		}
	}
	where = "/" + strings.Join(segments, "/")
	if limited {
		where += "?" + queryOf(query, values)
	}
	if b, ok := named(values, host, ":host"); ok {
		all = append(all, "net: "+method+" "+scheme+"://"+b+where)
	}
	return append(all, "net: "+method+" "+scheme+"://"+host+where)
}

// public reports whether a host is not recognizably an IP address or a local name. Others are granted one by one: a
// binding there could reach any other service of this machine or its network.
func public(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	_, err = netip.ParseAddr(name)
	return err != nil && name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

// Delimiters of the option that restricts an address argument to some places, in the form of lines.
const withinStart, withinEnd = " {within: [", "]}"

func within(places []string) string {
	quoted := make([]string, len(places))
	for i, p := range places {
		quoted[i] = strconv.Quote(p)
	}
	return withinStart + strings.Join(quoted, ", ") + withinEnd
}

// queryOf allows the same keys, with an argument's value or any.
func queryOf(query string, values []value) string {
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		key, text, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(text); err == nil {
			if b, ok := named(values, plain, ""); ok {
				key += "=" + b
			}
		}
		pairs = append(pairs, key)
	}
	return strings.Join(pairs, "&")
}
