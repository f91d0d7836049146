package settings

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
)

// Flags are what a command needs to find the state folder of these settings, as a person types them: nothing
// where it finds it by itself. A variable of this process is not one of the person's shell.
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

// Typed are Flags and all else that leads a command to the plugin folder and the lock file of these settings.
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

// typedPath is a path as it is typed in a shell: one word, with ~ for the home folder, which no shell of Windows knows.
func typedPath(path, home string) string {
	if goruntime.GOOS == "windows" {
		return quotedOnWindows(path)
	}
	if rest, inside := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); inside && home != "" {
		return "~/" + quoted(rest)
	}
	return quoted(path)
}

// Quoted is text as one word of a shell that takes it literally.
func Quoted(text string) string {
	if goruntime.GOOS == "windows" {
		return quotedOnWindows(text)
	}
	return quoted(text)
}

// quoted is text as one word of a shell that takes it literally, fish included, where a backslash means something in
// quotes. What cannot be seen stays: it is escaped where it is shown, and a name that holds it has to be typed by other
// means.
func quoted(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.NewReplacer("'", `'\''`, `\`, `'\\'`).Replace(text) + "'"
}

// quotedOnWindows is text as one word of PowerShell that takes it literally, and of cmd that runs nothing of it: there a
// percent sign and a backtick may be another text.
func quotedOnWindows(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0 // a program takes those in front of a quotation mark for escapes
	for _, r := range text {
		switch r {
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes) + `""`)
		case '$', '`', '\u201c', '\u201d', '\u201e': // PowerShell ends a text at typographic marks, too
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
