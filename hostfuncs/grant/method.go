package grant

import (
	"slices"
	"strings"
)

// registered lists the methods that a line can name: those of the IANA registry except CONNECT, TRACE and PRI, and the
// common but unregistered LIST and PURGE. Any other word is rejected as a mistake, since a line with it would never
// cover anything.
const registered = "GET HEAD POST PUT PATCH DELETE OPTIONS QUERY " +
	"ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LIST LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF " +
	"MKWORKSPACE MOVE ORDERPATCH PROPFIND PROPPATCH PURGE REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE " +
	"UPDATEREDIRECTREF VERSION-CONTROL"

func parseMethods(text string, line int) ([]string, error) {
	methods := strings.Split(strings.ToUpper(text), ",")
	for _, m := range methods {
		if m == "CONNECT" || m == "TRACE" {
			return nil, failf(line, "method %s is never allowed: remove it", m)
		}
		if !slices.Contains(strings.Fields(registered), m) {
			return nil, failf(line, "%q is not a method: %s", m, meant(m))
		}
	}
	slices.Sort(methods)
	return slices.Compact(methods), nil
}

// IsMethod reports whether m is an HTTP method that a line can grant: upper-case letters, and neither CONNECT nor
// TRACE.
func IsMethod(m string) bool {
	return m != "" && len(m) <= 32 && strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == "" &&
		m[0] != '-' && m != "CONNECT" && m != "TRACE"
}

// IsSafe reports whether the host treats a method as safe: GET and HEAD. A request of another method counts as a
// change, even one that RFC 9110 calls safe, since servers give those methods their own meanings, and frameworks let a
// request override them.
func IsSafe(method string) bool { return method == "GET" || method == "HEAD" }

// meant returns advice for a word that is no method: the registered method with nearly the same letters, if there is
// one.
func meant(word string) string {
	for m := range strings.FieldsSeq(registered) {
		if nearly(word, m) {
			return "write " + m
		}
	}
	return "write such as GET,POST"
}

// nearly reports whether two words differ in one letter, in one missing letter, or in the order of their letters.
func nearly(a, b string) bool {
	if letters(a) == letters(b) {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	at := 0
	for at < len(a) && a[at] == b[at] {
		at++
	}
	switch len(b) - len(a) {
	case 0:
		return at < len(a) && a[at+1:] == b[at+1:]
	case 1:
		return a[at:] == b[at+1:]
	}
	return false
}

// letters returns the letters of a word, sorted.
func letters(word string) string {
	b := []byte(word)
	slices.Sort(b)
	return string(b)
}
