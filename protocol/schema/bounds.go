package schema

import "time"

// maxCompiled is how many subschemas the library may compile, those included that references find in places where no
// keyword has one. Within the other bounds each costs it so much that the largest schema takes about a second on a slow
// machine.
const maxCompiled = 40_000

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
