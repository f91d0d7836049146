// Package jsonraw reads and edits JSON text, decoding only the parts it needs.
//
// Messages between client and plugin consist mostly of foreign data. This package splits a message into members as
// views into the original bytes, and joins members again, so that numbers keep their digits, strings keep their
// escapes, and unknown fields survive:
//
//	{"name":"time-now","arguments":{"zone":"UTC"},"x":1e400}
//	         └─ Get(raw, "name")    └─ Get(raw, "arguments", "zone")
//
// The choice of function depends on the input:
//
//   - Valid, Scanner, ParseObject and Elements validate all input: grammar, UTF-8 and depth. They are for unchecked
//     bytes.
//   - Get, String and DuplicateKey are for text accepted by Valid. On other input they return zero values instead
//     of errors, and never panic.
//   - Object is the editable form: members in document order with raw values.
//
// The grammar is that of RFC 8259 with two limits: text must be valid UTF-8, and containers nest at most MaxDepth
// deep. Escapes of unpaired surrogates ("\ud800") are kept in raw values, as encoding/json does; decoding them
// gives U+FFFD.
package jsonraw
