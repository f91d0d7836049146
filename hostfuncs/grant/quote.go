package grant

import (
	"strconv"
	"strings"
)

// Quote formats a line as an element of a YAML list: in double quotes if plain text would be read differently.
func Quote(line string) string {
	_, value, _ := strings.Cut(line, ": ")
	if !strings.Contains(value, ": ") && !strings.Contains(value, " #") && !strings.HasSuffix(value, ":") {
		return line
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line) + `"`
}

// Unquote reverses Quote. Other text is unchanged.
func Unquote(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}
