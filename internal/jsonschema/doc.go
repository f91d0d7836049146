// Package jsonschema compiles a JSON Schema once and validates raw JSON against it, within limits.
//
//	s, err := jsonschema.Compile(tool.InputSchema, nil)
//	…
//	err = s.Validate(arguments) // "/zone: want string, but got number"
//
// Schemas and values are both untrusted: one comes from a plugin, the other from a client or another plugin.
// Therefore:
//
//   - Nothing is loaded. An external reference is an error, except to the meta-schemas of JSON Schema.
//   - A schema is limited in bytes, depth and number of subschemas, and its compilation in steps.
//   - A validation is limited in steps and depth, not in time, so that the result does not depend on the load of
//     the machine. References can give a small schema exponential or infinite work: such a validation fails with a
//     specific error.
//   - Numbers are compared digit by digit. 1.0 is an integer, 2^64+1 is not 2^64, and 1e999999999 costs no memory.
//   - Patterns are ECMAScript, as the standard recommends, and the steps of a match count too. A pattern that
//     cannot be compiled is not enforced: its author gets a warning, and the tool works.
//
// Dialects are 2020-12 (the default without $schema), 2019-09, draft-07, draft-06 and draft-04. format and the
// content keywords are annotations in every dialect, as is the default of 2020-12. Of duplicate keys in an object
// every value is checked.
//
// Implementation: a census limits the schema, and the library resolves and checks it. The result is translated into
// rules (compile.go, rule.go), which an evaluator with a budget runs over an index of the raw value (value.go,
// eval.go). The library's own evaluator has no budget and cannot be stopped.
package jsonschema
