// Package shellword writes text as one word of a shell, for the commands that messages tell a person to type. The text may be a
// plugin's: no part of the word runs.
//
//	shellword.Quoted("it's $(x)") // 'it'\''s $(x)'
package shellword

import (
	"runtime"
	"strings"
)

// Quoted returns text as one literal word of the platform's shell.
func Quoted(text string) string {
	if runtime.GOOS == "windows" {
		return quotedOnWindows(text)
	}
	return quoted(text)
}

// quoted returns text as one literal word of POSIX shells and of fish, where a backslash is special in quotes.
// Invisible characters stay: they are escaped for display, so a name with them cannot be copied from there.
func quoted(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.NewReplacer("'", `'\''`, `\`, `'\\'`).Replace(text) + "'"
}

// quotedOnWindows returns text as one literal word of PowerShell. In cmd no part of it is run, but a percent sign and a
// backtick may change the text.
func quotedOnWindows(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0 // backslashes in front of a quotation mark are escapes to the program
	for _, r := range text {
		switch r {
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes) + `""`)
		case '$', '`', '\u201c', '\u201d', '\u201e': // PowerShell also ends a string at typographic quotation marks
			b.WriteString("`" + string(r))
		default:
			b.WriteRune(r)
		}
		if slashes++; r != '\\' {
			slashes = 0
		}
	}
	b.WriteString(strings.Repeat(`\`, slashes) + `"`)
	return b.String()
}
