package jsonschema

// maxDepth is the maximum nesting of schemas. Real tools have about ten levels.
const maxDepth = 64

// Limits of a schema. Real tools have some KiB and some hundred subschemas; the limits allow for generated ones.
const (
	maxBytes      = 256 << 10
	maxSubschemas = 10_000 // positions of schemas
	// maxResources limits $id, as the library compares each subschema with each of them.
	maxResources = 256
	// maxContainers limits the arrays and objects in one array of data, such as an enum, as the library compares
	// them pairwise.
	maxContainers = 1000
	// maxDigits limits the digits and the exponent of a number in a schema, as the library expands it.
	maxDigits = 1000
	// maxCount is the value to which larger counts are reduced, such as a maxLength of 2^64. No accepted value
	// reaches it.
	maxCount = 1<<31 - 1
)
