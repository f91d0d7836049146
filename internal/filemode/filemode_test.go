package filemode

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A secret of a supervisor is root's, with the process's group; every other access of a group or of others is refused.
func TestPrivate_admitsRootsFilesForTheGroup(t *testing.T) {
	const root, me, mine, other = 0, 1000, 1000, 50
	for _, test := range []struct {
		mode          fs.FileMode
		file, process owner
		want          bool
	}{
		{0o600, owner{me, mine}, owner{me, mine}, true},
		{0o400, owner{root, root}, owner{me, mine}, true},
		{0o440, owner{root, mine}, owner{me, mine}, true},
		{0o640, owner{root, mine}, owner{me, mine}, true},
		{0o440, owner{root, other}, owner{me, mine}, false},
		{0o440, owner{me, mine}, owner{me, mine}, false},
		{0o440, owner{root, root}, owner{root, root}, false},
		{0o660, owner{root, mine}, owner{me, mine}, false},
		{0o450, owner{root, mine}, owner{me, mine}, false},
		{0o444, owner{root, mine}, owner{me, mine}, false},
		{0o604, owner{me, mine}, owner{me, mine}, false},
		{0o640, owner{me, mine}, owner{me, mine}, false},
	} {
		if got := private(test.mode, test.file, test.process); got != test.want {
			t.Errorf("mode %04o, file %v, process %v: got %v, want %v", test.mode, test.file, test.process, got, test.want)
		}
	}
}

func TestPrivate_readsTheOwnerOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for mode, want := range map[fs.FileMode]bool{0o600: true, 0o644: runtime.GOOS == "windows"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || Private(info) != want {
			t.Errorf("mode %04o: got %v, %v, want %v", mode, !want, err, want)
		}
	}
}
