package settings

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/shellword"
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
	if rest, inside := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); inside && home != "" && goruntime.GOOS != "windows" {
		return "~/" + shellword.Quoted(rest)
	}
	return shellword.Quoted(path)
}
