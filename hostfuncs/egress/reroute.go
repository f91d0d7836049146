package egress

import (
	"slices"
	"strings"
)

// reroutes reports whether a server or proxy may use a field in place of the method, URL, host or client of the
// request. Grants apply to the request as it is. Since servers invent such names, they are detected by their words,
// with exceptions for fields that describe a method or an address of something else.
func reroutes(name string) bool {
	words := wordsOf(name)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case has(turning, w), w == "original" && !has(keeping, next), has(machines, w) && has(addresses, next):
			return true
		case has(naming, w) && strings.Join(words, " ") != "access control request method" && !slices.ContainsFunc(words, func(w string) bool { return has(purposes, w) }):
			return true
		}
	}
	return slices.Contains(others, strings.Join(words, " "))
}

// wordsOf splits a name at every character that servers may map to an underscore.
func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
}

// A star stands for the rest of a word.
var (
	// turning are words of fields that have no other purpose.
	turning = []string{
		"*override*", "*overridden*", "tunnele*", "tunnelle*", "*rewrite*", "*rewritten*", "forward", "*forwarded*", "*reproxy*", "accel", "sendfile*", "dtab", "envoy", "waws", "*subrequest*", "middleware",
		"*clientip", "*realip", "*remoteip", "*socketip", "*remoteaddr", "xmethod*", "httpmethod*", "xhttpmethod*",
	}
	// naming are words for the parts of a request.
	naming = []string{"*method", "*verb", "*url", "urls", "*uri", "*path", "pathinfo", "host", "hostname", "*httphost", "xhost", "authority", "scheme"}
	// purposes are words of fields with a method or an address of something else.
	purposes = []string{
		"auth", "authentication", "authorization", "avatar*", "callback*", "cancel*", "canonical*", "compression*", "copy*", "curl", "delivery*", "digest*", "doc*", "download*", "dropbox", "encryption*", "error*", "feed*", "file*",
		"hash*", "icon*", "image*", "json*", "jmespath", "logo*", "mcp", "notif*", "payment*", "psu", "rapidapi", "redirect*", "referer*", "referrer*", "return*", "schema*", "shipping*", "signature*",
		"signed*", "signing*", "source*", "success*", "tpp", "upload*", "verification*", "webhook*", "xpath",
	}
	// keeping are words that follow "original" in the name of a harmless field.
	keeping = []string{"content", "date", "etag", "file", "filename", "format", "height", "id", "language", "length", "message", "name", "size", "time", "timestamp", "title", "type", "version", "width"}
	// machines are words for the sender of a request, and addresses are words for its address.
	machines  = []string{"*client", "real", "*remote", "connecting", "connection", "originating", "*socket", "proxyuser", "pseudo"}
	addresses = []string{"ip", "ips", "ipv4", "ipv6", "addr", "address"}
	// others are complete names.
	others = []string{
		"proxy", "x proto", "x protocol", "x target", "x backend", "x upstream", "x vhost", "x route to", "x server name", "x wap profile", "x custom ip authorization",
		"script name", "x script name", "destination", "x destination", "x http destination", "front end https", "x now route matches",
	}
)

// has reports whether a word matches a list.
func has(list []string, word string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		core := strings.Trim(p, "*")
		begins, ends := strings.HasPrefix(p, "*"), strings.HasSuffix(p, "*")
		switch {
		case begins && ends:
			return strings.Contains(word, core)
		case begins:
			return strings.HasSuffix(word, core)
		case ends:
			return strings.HasPrefix(word, core)
		}
		return word == core
	})
}
