package jsonschema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// rank tells how much a reason says about what was meant, where one of several forms must fit.
type rank uint8

const (
	rankOther rank = iota
	rankType       // a wrong type: another form was meant
	rankConst      // a wrong constant: likewise, most of the time
)

// failWork is what a reason costs that is put into words, in steps.
const failWork = 32

// fail notes why the value at hand does not fit. It returns false.
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

// failAt is fail for the member key of the value at hand, there or not.
func (e *evaluator) failAt(key string, format string, args ...any) bool {
	e.fail(format, args...)
	if e.err != nil && !e.quiet {
		e.err.Pointer += "/" + jsonraw.EscapePointer(key)
	}
	return false
}

// pointer is the JSON Pointer to the value at hand.
func (e *evaluator) pointer() string {
	var p strings.Builder
	for _, m := range e.path {
		p.WriteByte('/')
		if m.keyStart == 0 { // an element: its place stands in keyEnd
			p.WriteString(strconv.Itoa(int(m.keyEnd)))
			continue
		}
		p.WriteString(jsonraw.EscapePointer(string(e.key(m))))
	}
	return p.String()
}
