package jsonschema

// maxCompiled is how many subschemas the library may compile, those included that references find in places where no
// keyword has one. Within the other bounds each costs it so much that the largest schema takes about a second on a slow
// machine.
const maxCompiled = 40_000

// Bounds of a validation.
const (
	// maxValues is how many values a JSON text may consist of: the index takes 32 bytes for each.
	maxValues = 1 << 20
	// maxWork is how many steps a validation may take; one is mostly about 20 to 50 ns. A value of a
	// million elements with a simple schema needs a third.
	maxWork = 10_000_000
	// maxDescent bounds how deep evaluation may go: a value of the greatest depth, with sixteen
	// references at each level.
	maxDescent = 16 * 512
	// maxMatchBytes bounds the text for a pattern, which is expanded to four times its size.
	maxMatchBytes = 4 << 20
	// maxMultipleDigits bounds a number for multipleOf, the one keyword that needs arithmetic.
	maxMultipleDigits = 4096
)
