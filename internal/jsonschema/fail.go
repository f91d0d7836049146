package jsonschema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// rank rates how well a violation identifies the intended alternative.
type rank uint8

const (
	rankOther rank = iota
	rankType       // wrong type: another alternative was meant
	rankConst      // wrong constant: usually another one was meant
)

// failWork is the cost of building a message, in steps.
const failWork = 32

// fail records a violation of the current value. It returns false.
func (e *evaluator) fail(format string, args ...any) bool {
	return e.failAs(rankOther, format, args...)
}

func (e *evaluator) failAs(r rank, format string, args ...any) bool {
	if !e.quiet && e.stopped == nil {
		e.err, e.rank = &ValidationError{Pointer: e.pointer(), Message: fmt.Sprintf(format, args...)}, r
		e.spend(failWork + len(e.path) + len(e.err.Pointer)/workBytes)
	}
	return false
}

// failAt is fail for member key of the current value, which may be missing.
func (e *evaluator) failAt(key string, format string, args ...any) bool {
	e.fail(format, args...)
	if e.err != nil && !e.quiet {
		e.err.Pointer += "/" + jsonraw.EscapePointer(key)
	}
	return false
}

// pointer returns the JSON Pointer to the current value.
func (e *evaluator) pointer() string {
	var p strings.Builder
	for _, m := range e.path {
		p.WriteByte('/')
		if m.keyStart == 0 { // an element: keyEnd is its index
			p.WriteString(strconv.Itoa(int(m.keyEnd)))
			continue
		}
		p.WriteString(jsonraw.EscapePointer(string(e.key(m))))
	}
	return p.String()
}
