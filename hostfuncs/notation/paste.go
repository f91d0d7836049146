package notation

import (
	"strconv"
	"strings"
)

// Paste formats a line as an element of a YAML list: in double quotes if plain text would be read differently.
func Paste(line string) string {
	_, value, _ := strings.Cut(line, ": ")
	if !strings.Contains(value, ": ") && !strings.Contains(value, " #") && !strings.HasSuffix(value, ":") {
		return line
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line) + `"`
}

// Unpaste reverses Paste. Other text is unchanged.
func Unpaste(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}
