package census

// MaxDepth is how many schemas may stand within one another. Real ones of tools have ten levels.
const MaxDepth = 64

// Bounds of a schema. Real ones of tools have some KiB and some hundred subschemas; the bounds leave room for generated
// ones.
const (
	maxBytes      = 256 << 10
	maxSubschemas = 10_000 // places where a schema stands
	// maxResources bounds $id: the library compares each subschema with each of them.
	maxResources = 256
	// maxContainers bounds the arrays and objects that are elements of one array of data, such as
	// an enum: the library compares such elements with one another.
	maxContainers = 1000
	// maxDigits bounds a number in a schema, its digits and its exponent: the library expands it.
	maxDigits = 1000
	// maxCount is what a larger count, such as a maxLength of 2^64, is cut to. No value that we
	// accept has as many of anything.
	maxCount = 1<<31 - 1
)
