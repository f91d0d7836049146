package secret

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A value is cached and then read again, and old values are still redacted.
func TestVault_cachesAndRereadsValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v := NewVault("", NewVaultKey(), "p", Kept{})
	if v.Redactor() != nil {
		t.Errorf("redactor before a first read: got one, want none")
	}
	line := grant.Secret{Name: "TOKEN", From: "file " + file}
	put("the-first-value-of-all")
	for _, c := range []struct {
		write string
		age   time.Duration
		want  string
	}{
		{"", 0, "the-first-value-of-all"}, {"the-second-value-of-all", 0, "the-first-value-of-all"}, {"", valueAge, "the-second-value-of-all"},
	} {
		if c.write != "" {
			put(c.write)
		}
		for key, k := range v.values {
			k.at = k.at.Add(-c.age)
			v.values[key] = k
		}
		if got, err := v.Value(line, ""); err != nil || got != c.want {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
	if got := v.Redactor().String("a the-first-value-of-all b the-second-value-of-all"); strings.Contains(got, "value-of-all") {
		t.Errorf("got %s, want both values redacted", got)
	}
}

func TestVault_reportsMissingValue(t *testing.T) {
	v := NewVault("", NewVaultKey(), "p", Kept{})
	var ask *runtime.AskError
	_, err := v.Value(grant.Secret{Name: "TOKEN", From: "file " + filepath.Join(t.TempDir(), "none")}, "")
	if !errors.As(err, &ask) || ask.Kind != runtime.KindUnavailable || !strings.HasPrefix(ask.Message, "the secret TOKEN cannot be had: ") {
		t.Errorf("a missing file: got %v, want the secret TOKEN unavailable", err)
	}
}

// A placeholder is stable for one plugin of one host, and unique.
func TestVault_placeholderIsStable(t *testing.T) {
	key := NewVaultKey()
	p := NewVault("", key, "p", Kept{}).Placeholder("TOKEN")
	if again := NewVault("", key, "p", Kept{}).Placeholder("TOKEN"); again != p || !strings.HasPrefix(p, "sallyport-") {
		t.Errorf("placeholder: got %s, then %s, want the same that begins with sallyport-", p, again)
	}
	for what, other := range map[string]string{
		"name": NewVault("", key, "p", Kept{}).Placeholder("OTHER"), "plugin": NewVault("", key, "q", Kept{}).Placeholder("TOKEN"), "host": NewVault("", NewVaultKey(), "p", Kept{}).Placeholder("TOKEN"),
	} {
		if other == p {
			t.Errorf("another %s: got the same placeholder %s, want a different one", what, p)
		}
	}
}
