package grant

import "github.com/sallyport-mcp/sallyport/hostfuncs/notation"

// Types of package notation for parsed configuration and its errors.
type (
	Node       = notation.Node
	Kind       = notation.Kind
	ParseError = notation.Error
)

// The kinds of a Node.
const (
	Scalar = notation.Scalar
	List   = notation.List
	Map    = notation.Map
)

func failf(line int, format string, args ...any) error { return notation.Errorf(line, format, args...) }
