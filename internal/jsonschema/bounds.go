package jsonschema

// maxCompiled is the maximum number of subschemas compiled by the library, including those found only by
// references. Their cost is such that the largest schema takes about a second on a slow machine.
const maxCompiled = 40_000

// Limits of a validation.
const (
	// maxValues is the maximum number of values in a JSON text. The index takes 32 bytes for each.
	maxValues = 1 << 20
	// maxWork is the maximum number of steps, at mostly 20 to 50 ns each. An array of a million elements with a
	// simple schema takes a third of it.
	maxWork = 10_000_000
	// maxDescent is the maximum recursion depth: the maximum nesting of a value times sixteen references per level.
	maxDescent = 16 * 512
	// maxMatchBytes is the maximum length of a text matched by a pattern, which is expanded to four times its size.
	maxMatchBytes = 4 << 20
	// maxMultipleDigits is the maximum length of a number for multipleOf, the only keyword with arithmetic.
	maxMultipleDigits = 4096
)
