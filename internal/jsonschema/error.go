package jsonschema

import (
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// ValidationError says which part of a value does not fit, and why.
type ValidationError struct {
	Pointer string // JSON Pointer (RFC 6901) into the value; "" is the whole
	Message string // one short sentence, such as "want number, but got string"
	// Also are further faults of members of objects, 7 at most.
	Also []*ValidationError
}

// Error is the pointer, unless it is empty, and the message, for each fault.
func (e *ValidationError) Error() string {
	text := located(e.Pointer, e.Message)
	for _, also := range e.Also {
		text += "; " + located(also.Pointer, also.Message)
	}
	return text
}

// SchemaError says which part of a schema cannot be used, and why.
type SchemaError struct {
	Pointer string // JSON Pointer into the schema; "" is the whole
	Problem string
}

// Error is the pointer, unless it is empty, and the problem.
func (e *SchemaError) Error() string { return "schema: " + located(e.Pointer, e.Problem) }

func located(pointer, message string) string {
	if pointer == "" {
		return message
	}
	return pointer + ": " + message
}

// maxShown is how many bytes of a value an error repeats.
const maxShown = 64

// shown is a text for a message: cut, on one line, and harmless on a terminal.
func shown[T string | []byte](text T) string {
	return sanitize.Visible(strings.Join(strings.Fields(sanitize.Cut(string(text), maxShown)), " "))
}

// list joins words as in "a, b or c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// count is n of something, in the plural where it must be.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
