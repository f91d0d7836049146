// Package jsonraw reads and edits JSON text without decoding what it does not need.
//
// A message on its way between a client and a plugin is mostly somebody else's data. This
// package cuts such a message into its members, hands out views into the original bytes and
// puts members together again, so that numbers keep their digits, strings keep their escapes,
// and a field that nobody here knows survives:
//
//	{"name":"time-now","arguments":{"zone":"UTC"},"x":1e400}
//	         └─ Get(raw, "name")    └─ Get(raw, "arguments", "zone")
//
// Three ways to read, by what is known about the input:
//
//   - Valid, Scanner, ParseObject and Elements check everything they pass: grammar, UTF-8 and
//     depth. They are for bytes that nobody has looked at.
//   - Get, String and DuplicateKey are for text that Valid has accepted. On other input they
//     answer "nothing" instead of failing, and never panic.
//   - Object is the editable form: members in document order with raw values.
//
// The grammar is that of RFC 8259 with two limits: text must be valid UTF-8, and containers
// nest at most MaxDepth deep. An escape of half a surrogate pair ("\ud800") is let through
// unchanged in raw values, as encoding/json does; decoding it gives U+FFFD.
//
// This package is internal to Sallyport in spirit: only the plugin contract and the plugin
// development kits are promised to others.
package jsonraw
