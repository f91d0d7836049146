package fileid

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOf_tellsVersionsApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "one")
	first, err := Of(path)
	if err != nil || first.Size != 3 {
		t.Fatalf("got %+v, %v; want size 3", first, err)
	}
	if again, _ := Of(path); again != first || again.Key() != first.Key() {
		t.Errorf("second stamp: got %+v, want %+v", again, first)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	if again, _ := Of(path); again == first || again.Key() == first.Key() {
		t.Errorf("after another time: got %+v, want another stamp", again)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	a, _ := Of(path)
	if b, err := Of(link); err != nil || b.Size != a.Size || b.Mtime != a.Mtime {
		t.Errorf("link: got %+v, %v; want size and time of %+v", b, err, a)
	}
}

func TestOf_refusesMissingFilesAndFolders(t *testing.T) {
	dir := t.TempDir()
	if _, err := Of(dir); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v, want %v", err, ErrNotRegular)
	}
	if _, err := Of(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	if _, _, err := Read(dir); err == nil {
		t.Error("Read of a folder: got no error, want one")
	}
	if _, _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

func TestStamp_quietIsTheTimeWithoutAChange(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	for name, c := range map[string]struct {
		s    Stamp
		want time.Duration
	}{
		"only a time that anybody can set": {Stamp{Mtime: ago(time.Hour)}, time.Second},
		"the system's own time":            {Stamp{Mtime: ago(time.Hour), Ctime: ago(time.Minute)}, time.Minute},
		"changed just now":                 {Stamp{Mtime: ago(0), Ctime: ago(0)}, time.Second},
	} {
		if got := c.s.Quiet(now.Add(-time.Second), now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRead_refusesFilesBeingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "one")
	want, _ := Of(path)
	if content, st, err := Read(path); err != nil || string(content) != "one" || st != want {
		t.Errorf("got %q %+v %v; want \"one\", %+v, no error", content, st, err, want)
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, st, err := Read(path); !errors.Is(err, ErrUnsettled) || st != want {
		t.Errorf("somebody may write: got %+v %v; want %+v, %v", st, err, want, ErrUnsettled)
	}
	f.Close()
	if _, _, err := Read(path); err != nil {
		t.Errorf("nobody may any more: got %v, want no error", err)
	}
}

func TestRead_boundsTheSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "")
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Skip(err)
	}
	if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), "MiB") {
		t.Errorf("got %v, want \"MiB\" in it", err)
	}
}

func TestDigest_isSHA256InHex(t *testing.T) {
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got := Digest(nil); got != empty {
		t.Errorf("got %q, want %q", got, empty)
	}
	if digits, ok := Hex(empty); !ok || "sha256:"+digits != empty {
		t.Errorf("Hex(%q): got %q, %v; want its digits, true", empty, digits, ok)
	}
	for _, s := range []string{"", empty[7:], strings.ToUpper(empty), empty[:70], empty + "00", "sha256:../../x"} {
		if _, ok := Hex(s); ok {
			t.Errorf("Hex(%q): got true, want false", s)
		}
	}
}
