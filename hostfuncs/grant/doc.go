// Package grant implements the language of capability grants: it parses grant lines, and decides whether they allow an
// effect of a plugin.
//
// A plugin without grants is a pure function. Each grant is one line: a family, and the effects of that family that it
// allows.
//
//	net: GET,POST https://api.github.com/repos/**
//	fs: read ~/work/**
//	fs: write ~/work/out/** {ask: true}
//	config: {lang: en}
//	deny: fs: write ~/work/out/keep/**
//
// Parse reads the lines of a configuration file, ParseLine a single one, and a Set decides on single effects:
//
//	g, err := grant.ParseLine("net: GET https://*.example.com/v1/**")
//	d := grant.NewSet(g).Net("GET", u) // u from urlnorm.URL
//	if !d.Allowed { fmt.Println("add this line:", d.Suggest) }
//
// # Order
//
// Deny lines come first: an effect that any of them covers is denied. Otherwise any one line is enough. A line with
// ask: true requires a confirmation, which the Decision states in Ask.
//
// # Addresses
//
// A net line consists of methods, comma separated, and an address pattern. Both sides are compared in canonical form
// (see urlnorm.URL): lower-case scheme and host, explicit default port, dot segments resolved, percent-encoding
// normalized once.
//
//   - in a host, * is a run of characters within one label, ** is any number of labels
//   - in a path, * is a run of characters within one segment, ** is any number of segments, including none
//   - without ? any query is allowed; with it only the listed keys, with any value (?page) or with one that
//     matches (?page=1, ?page=*)
//   - a lone ? allows no query
//   - without a path the path is /; https://** alone is short for https://**/**, the whole web
//
// A * never matches an encoded slash, %2F; ** does. Characters with a meaning here are written percent-encoded: %2A is
// a literal star.
//
// # Paths
//
// An fs line consists of read or write, and a path pattern that begins with / or ~/ (the operator's home). write
// includes read. A denied read denies writing too; a denied write leaves reading allowed. Some paths are not matched
// by wildcards and must be literal in a line: folders of credentials for reading, and for writing all files from which
// programs later run code (.git/hooks, editor settings, shell start-up files). In a path {*} is a literal star, {{}
// and {}} are braces, { } is a blank at the end.
//
// # Unsupported rules
//
// A rule that the gate would not enforce is rejected. Families, options and bindings that are part of the language but
// not enforced yet are an error that says so.
package grant
