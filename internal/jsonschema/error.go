package jsonschema

import (
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// ValidationError is the first violation in a value, with its position.
type ValidationError struct {
	Pointer string // JSON Pointer (RFC 6901) into the value; "" is the whole
	Message string // one short sentence, such as "want number, but got string"
	// Also are up to 7 further violations in object members.
	Also []*ValidationError
}

// Error returns all violations, each as its pointer, unless empty, and its message.
func (e *ValidationError) Error() string {
	text := located(e.Pointer, e.Message)
	for _, also := range e.Also {
		text += "; " + located(also.Pointer, also.Message)
	}
	return text
}

// SchemaError is a problem of a schema, with its position.
type SchemaError struct {
	Pointer string // JSON Pointer into the schema; "" is the whole
	Problem string
}

// Error returns the pointer, unless empty, and the problem.
func (e *SchemaError) Error() string { return "schema: " + located(e.Pointer, e.Problem) }

func located(pointer, message string) string {
	if pointer == "" {
		return message
	}
	return pointer + ": " + message
}

// maxShown is the maximum length of a value quoted in an error, in bytes.
const maxShown = 64

// shown returns a text for a message, shortened to one line and escaped for terminals.
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

// count returns n with the noun, in the plural if required.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
