// Package grant is the language in which an operator says what a plugin may do.
//
// A plugin with no grants is a pure function. Each grant is one line: a family, and what of it is
// allowed.
//
//	net: GET,POST https://api.github.com/repos/**
//	fs: read ~/work/**
//	fs: write ~/work/out/** {ask: true}
//	config: {lang: en}
//	deny: fs: write ~/work/out/keep/**
//
// Parse reads the lines of a configuration file, ParseLine a single one, and a Set answers whether
// one effect is allowed:
//
//	g, err := grant.ParseLine("net: GET https://*.example.com/v1/**")
//	d := grant.NewSet(g).Net("GET", u) // u from canonical.URL
//	if !d.Allowed { fmt.Println("add this line:", d.Suggest) }
//
// # Order
//
// Denials are asked first: an effect that any deny line covers is refused, whatever else allows it.
// Then any one line is enough. A line with ask: true allows nothing by itself; the Decision says so.
//
// # Addresses
//
// A net line is methods, comma separated, and an address pattern. Both sides are compared in
// canonical form (see package canonical): lower-case scheme and host, the default port filled in, dot segments
// resolved, percent-encoding normalized once.
//
//   - in a host, * is a run of characters within one label, ** is any number of labels
//   - in a path, * is a run of characters within one segment, ** is any number of segments, also none
//   - without ? any query is allowed; with it only the keys listed, with any value (?page) or with one
//     that fits (?page=1, ?page=*)
//   - a lone ? allows no query
//   - without a path only / is meant; https://** alone is short for https://**/**, the whole web
//
// A * never stands for a slash that is written %2F; ** does. Characters with a meaning here are
// written percent-encoded: %2A is a star.
//
// # Paths
//
// An fs line is read or write, and a path pattern that begins with / or ~/ (the operator's home).
// To write includes to read. A denied read denies writing too; a denied write leaves reading alone.
// A few places are not covered by wildcards at all, and must be spelled out to be allowed:
// folders of credentials for reading, and for writing whatever makes a later program run code
// (.git/hooks, editor settings, shell start-up files). In a path {*} is a star, {{} and {}} are
// braces, { } is a blank at the end.
//
// # What is not there yet
//
// A rule that the gate would not hold is never accepted. Families, options and bindings that belong to
// the language but are not enforced are an error that says so.
package grant
