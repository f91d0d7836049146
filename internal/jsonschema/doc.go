// Package jsonschema compiles a JSON Schema once and validates raw JSON against it, within bounds.
//
//	s, err := schema.Compile(tool.InputSchema, nil)
//	…
//	err = s.Validate(arguments) // "/zone: want string, but got number"
//
// Schemas and values both come from strangers: a plugin wrote the one, a client or another
// plugin the other. So
//
//   - nothing is ever loaded. A reference that leaves the document is an error, except to the
//     meta-schemas that JSON Schema itself defines;
//   - a schema is bounded in bytes, depth and number of subschemas, and its compilation in steps;
//   - a validation is bounded in steps and depth, and in no time, so that a loaded machine refuses
//     nothing that an idle one takes. References can make a small schema mean
//     an exponential amount of work, or none that ends: such a validation fails and says so;
//   - numbers are compared digit by digit. 1.0 is an integer, 2^64+1 is not 2^64, and 1e999999999
//     costs no memory;
//   - patterns are ECMAScript's, as the standard asks, and the steps of a match count like others. A pattern
//     that cannot be compiled is not enforced: the author hears of it, and the tool works.
//
// Dialects are 2020-12 (also where $schema is absent), 2019-09, draft-07, draft-06 and draft-04.
// format and the content keywords are annotations here, as in the default of 2020-12: they are
// not enforced in any dialect. Of equal keys in an object every value is checked.
//
// How it is done: a census looks at the schema; the library resolves and checks it; its result is translated into
// rules of our own (compile.go, rule.go), which an evaluator with a budget runs over an index of
// the raw value (value.go, eval.go). The library's own evaluator has no budget and cannot be
// stopped.
package jsonschema
