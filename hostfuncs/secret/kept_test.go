package secret_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// tricks are principals and names by which an attacker may try to reach the value TOKEN of token:ann.
var tricks = []struct{ principal, name string }{
	{"token:Ann", "TOKEN"}, {"token:ann ", "TOKEN"}, {"token:an", "TOKEN"}, {"token:ａnn", "TOKEN"}, {"token:ann\x00", "TOKEN"}, {"token:ann\nx", "TOKEN"},
	{"", "TOKEN"}, {"TOKEN", "token:ann"}, {"token:bob", "TOKEN@token:ann"}, {"token:bob", "../secrets/TOKEN"},
}

// A value of one principal is found by that principal alone, in the keyring and in files.
func TestKept_valueOfAPrincipalIsItsOwn(t *testing.T) {
	for _, ring := range []bool{false, true} {
		if ring {
			keyring.MockInit()
		} else {
			keyring.MockInitWithError(errors.New("no keyring here"))
		}
		kept := secret.Kept{Dir: filepath.Join(t.TempDir(), "secrets")}
		where, err := kept.For("token:ann").Set("TOKEN", "of ann")
		if err != nil {
			t.Fatal(err)
		}
		entry := strings.TrimSuffix(filepath.Base(where), ".secret")
		for _, trick := range append(tricks, struct{ principal, name string }{"", entry}, struct{ principal, name string }{"token:bob", entry}) {
			of := kept
			if trick.principal != "" {
				of = kept.For(trick.principal)
			}
			if got, err := of.Get(trick.name); !errors.Is(err, secret.ErrUnset) || got != "" {
				t.Errorf("keyring %v, %q of %q: got %q, %v, want none", ring, trick.name, trick.principal, got, err)
			}
		}
		if _, err := kept.Set(entry, "x"); err == nil {
			t.Errorf("keyring %v: a name of the host is the entry of ann's value", ring)
		}
		if _, err := kept.For("token:bob").Set("TOKEN", "of bob"); err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Set("TOKEN", "of all"); err != nil {
			t.Fatal(err)
		}
		if err := kept.For("token:bob").Remove("TOKEN"); err != nil {
			t.Fatal(err)
		}
		if got, err := kept.For("token:ann").Get("TOKEN"); err != nil || got != "of ann" {
			t.Errorf("keyring %v: got %q, %v, want the value of ann", ring, got, err)
		}
		if got, err := kept.Get("TOKEN"); err != nil || got != "of all" {
			t.Errorf("keyring %v: got %q, %v, want the value of all", ring, got, err)
		}
	}
}

// A file that was renamed to the entry of a different principal is no value of it, and its owner is listed by name.
func TestKept_fileNamesItsPrincipal(t *testing.T) {
	keyring.MockInitWithError(errors.New("no keyring here"))
	kept := secret.Kept{Dir: filepath.Join(t.TempDir(), "secrets")}
	ann, err := kept.For("token:ann").Set("TOKEN", "of ann")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := kept.For("token:bob").Set("TOKEN", "of bob")
	if err != nil {
		t.Fatal(err)
	}
	want := []secret.Owned{{Name: "TOKEN", Principal: "token:ann"}, {Name: "TOKEN", Principal: "token:bob"}}
	if got, err := kept.OfPrincipals(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if names, err := kept.Names(); err != nil || len(names) != 0 {
		t.Errorf("got the names %q, %v, want none of all callers", names, err)
	}
	if err := os.Rename(ann, bob); err != nil {
		t.Fatal(err)
	}
	if got, err := kept.For("token:bob").Get("TOKEN"); !errors.Is(err, secret.ErrUnset) || got != "" {
		t.Errorf("got %q, %v, want no value", got, err)
	}
	if got, err := kept.OfPrincipals(); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want none", got, err)
	}
}
