package schema

import "time"

// Bounds of a schema. Real ones of tools have some KiB, ten levels and some hundred subschemas;
// the bounds leave room for generated ones.
const (
	maxBytes      = 256 << 10
	maxDepth      = 64     // subschemas within subschemas
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
	// maxCompileTime bounds the library's work. The largest schema within the other bounds takes
	// about a second on a slow machine.
	maxCompileTime = 3 * time.Second
)

// Bounds of a validation.
const (
	// maxValues is how many values a JSON text may consist of: the index takes 32 bytes for each.
	maxValues = 1 << 20
	// maxWork is how many steps a validation may take; one is about 20 to 50 ns. A value of a
	// million elements with a simple schema needs a third.
	maxWork = 10_000_000
	// maxDescent bounds how deep evaluation may go: a value of the greatest depth, with sixteen
	// references at each level.
	maxDescent = 16 * 512
	// maxTime is for what steps do not measure well, and for a machine under load.
	maxTime = 2 * time.Second
	// maxMatchTime bounds one match of one pattern, also on a machine under load. The engine's clock ticks each 100 ms, so the
	// match ends up to two ticks later.
	maxMatchTime = 500 * time.Millisecond
	// maxMatchBytes bounds the text for a pattern: the engine expands it to four times its size.
	maxMatchBytes = 4 << 20
	// maxPatternBytes bounds the source of a pattern; a longer one is not enforced.
	maxPatternBytes = 8 << 10
	// maxMultipleDigits bounds a number for multipleOf, the one keyword that needs arithmetic.
	maxMultipleDigits = 4096
)
