package secret_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
)

// A value set by name is found by name: in the keyring or, if there is none, in an owner-only file.
func TestKept_findsValueByName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	kept := secret.Kept{Dir: dir}
	want := func(what, value string) {
		t.Helper()
		if got, err := kept.Get("TOKEN"); got != value || (value == "") != errors.Is(err, secret.ErrUnset) {
			t.Errorf("%s: got %q, %v, want %q", what, got, err, value)
		}
	}
	keyring.MockInitWithError(errors.New("no keyring here"))
	want("nothing", "")
	where, err := kept.Set("TOKEN", "first-value")
	if info, statErr := os.Stat(where); err != nil || statErr != nil || info.Mode().Perm() != 0o600 || filepath.Dir(where) != dir {
		t.Errorf("first value: got file %s, %v, %v, %v, want one in %s for its owner only", where, info, statErr, err, dir)
	}
	want("a file", "first-value")
	if _, err := kept.Set("TOKEN", "second-value"); err != nil {
		t.Error(err)
	}
	want("set again", "second-value")
	if err := os.Chmod(where, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := kept.Get("TOKEN"); err == nil || got != "" {
		t.Errorf("a file that others read: got %q, %v, want an error", got, err)
	}

	keyring.MockInit()
	if where, err := kept.Set("TOKEN", "third-value"); err != nil || where != "the keyring" {
		t.Errorf("third value: got it in %s, %v, want the keyring", where, err)
	}
	want("the keyring", "third-value")
	if _, err := os.Stat(where); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old value's file: got %v, want %v", err, os.ErrNotExist)
	}
	if err := kept.Remove("TOKEN"); err != nil {
		t.Error(err)
	}
	want("removed", "")
	if err := kept.Remove("TOKEN"); !errors.Is(err, secret.ErrUnset) {
		t.Error(err)
	}
	for _, c := range [][2]string{{"TOKEN", ""}, {"TOKEN", "a\nb"}, {"TOKEN", string(make([]byte, 70<<10))}, {"../x", "v"}, {"", "v"}, {"a b", "v"}} {
		if where, err := kept.Set(c[0], c[1]); err == nil {
			t.Errorf("%.20q: got it kept in %s, want an error", c, where)
		}
	}
	keyring.MockInitWithError(errors.New("no keyring here"))
	for _, name := range []string{".", ".."} {
		if where, err := kept.Set(name, "value"); err != nil || filepath.Dir(where) != dir {
			t.Errorf("name %s: got file %s, %v, want one in %s", name, where, err, dir)
		}
	}
}
