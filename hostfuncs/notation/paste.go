package notation

import (
	"strconv"
	"strings"
)

// Paste writes a line so that it can be put into a YAML list as it is: in double quotes if plain text
// would be read as something else.
func Paste(line string) string {
	_, value, _ := strings.Cut(line, ": ")
	if !strings.Contains(value, ": ") && !strings.Contains(value, " #") && !strings.HasSuffix(value, ":") {
		return line
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line) + `"`
}

// Unpaste undoes Paste; other text it leaves as it is.
func Unpaste(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}
