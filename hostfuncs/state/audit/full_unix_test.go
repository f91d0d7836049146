//go:build unix

package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// fillUp is a process whose file size is temporarily limited to 10,000 bytes: writes end within a line, and then
// fail.
func fillUp(dir string) error {
	signal.Ignore(unix.SIGXFSZ)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	failures := 0
	l := audit.New(dir, audit.Options{Failed: func(error) { failures++ }})
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 10_000, Max: was.Max}); err != nil {
		return err
	}
	lost := 0
	for i := range 200 {
		if _, err := l.Append(fmt.Appendf(nil, `"i":%d,"text":"%s"`, i, strings.Repeat("x", 40_000))); errors.Is(err, audit.ErrLost) {
			lost++
		}
		_ = l.Sync()
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if _, err := l.Append([]byte(`"i":"after"`)); err != nil {
		return err
	}
	fmt.Printf("lost %d, told %d", lost, failures)
	return l.Close()
}

// A full disk loses only the lines that exceed the memory limit, and they are counted. All others verify.
func TestLog_fullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "AUDIT_TEST_FULL="+dir)
	out, err := c.CombinedOutput()
	var lost, told int
	if _, scan := fmt.Sscanf(string(out), "lost %d, told %d", &lost, &told); err != nil || scan != nil {
		t.Fatalf("got %v, %s, want lost and told", err, out)
	}
	if lost < 50 || lost > 150 || told != 1 {
		t.Errorf("got %s, want about 96 lines of 200 lost and one failure told", out)
	}
	r := verify(t, dir)
	if len(r.Problems) != 0 || len(r.Open) != 0 || r.Lines != uint64(200-lost+4) { // the additional lines: begin, lost, after, end
		t.Errorf("got %+v with %d lost, want no problems and %d lines", r, lost, 200-lost+4)
	}
	raw, err := os.ReadFile(logs(t, dir)[0])
	if want := fmt.Sprintf(`"event":"lost","lines":%d`, lost); err != nil || !bytes.Contains(raw, []byte(want)) {
		t.Errorf("no %s, %v", want, err)
	}
}
