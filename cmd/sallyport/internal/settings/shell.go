package settings

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
)

// Flags returns the flags with which a command finds the state folder of these settings, quoted for the shell; "" if
// the defaults do. Values from variables become flags: the operator's shell may not have them.
func (s *Settings) Flags() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	var flags []string
	if file, err := filepath.Abs(s.File); s.File != "" && err == nil && !isDefaultFile(file) {
		flags = append(flags, "--config", typedPath(file, home))
	}
	if from := s.Source("state"); from == FromFlag || from == FromEnv {
		flags = append(flags, "--state", typedPath(s.Text("state"), home))
	}
	return strings.Join(flags, " ")
}

// Typed returns Flags, and the arguments that lead a command to the plugin folder and the lock file of these settings.
func (s *Settings) Typed() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	var words []string
	given := func(key string) bool { from := s.Source(key); return from == FromFlag || from == FromEnv }
	if given("dir") {
		words = append(words, typedPath(s.Text("dir"), home))
	}
	if flags := s.Flags(); flags != "" {
		words = append(words, flags)
	}
	if given("lock") {
		words = append(words, "--lock", typedPath(s.Text("lock"), home))
	}
	return strings.Join(words, " ")
}

func isDefaultFile(file string) bool {
	usual, err := DefaultFile()
	return err == nil && file == usual
}

// typedPath quotes a path for the shell, with ~ for the home folder except on Windows, where shells do not expand it.
func typedPath(path, home string) string {
	if goruntime.GOOS == "windows" {
		return quotedOnWindows(path)
	}
	if rest, inside := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); inside && home != "" {
		return "~/" + quoted(rest)
	}
	return quoted(path)
}

// Quoted returns text as one literal word of the platform's shell.
func Quoted(text string) string {
	if goruntime.GOOS == "windows" {
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
