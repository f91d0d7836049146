package secret

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"

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

// Each caller has the values of its own, its redactor covers all of them, and the variable of the name is of nobody.
func TestVault_callersHaveTheirOwnValues(t *testing.T) {
	t.Setenv("TOKEN", "the-value-of-the-variable")
	keyring.MockInitWithError(errors.New("no keyring here"))
	kept := Kept{Dir: filepath.Join(t.TempDir(), "secrets")}
	v := NewVault("", NewVaultKey(), "p", kept)
	own, all := grant.Secret{Name: "TOKEN", PerPrincipal: true}, grant.Secret{Name: "TOKEN"}
	for _, principal := range []string{"token:ann", "token:bob"} {
		if _, err := kept.For(principal).Set("TOKEN", "the-value-of-"+principal); err != nil {
			t.Fatal(err)
		}
	}
	for _, principal := range []string{"token:ann", "token:bob"} {
		c := v.For(principal)
		if c != v.For(principal) {
			t.Errorf("%s: a second vault of one caller", principal)
		}
		if got, err := c.Value(own, ""); err != nil || got != "the-value-of-"+principal {
			t.Errorf("%s: got %q, %v, want its own value", principal, got, err)
		}
		if got, err := c.Value(all, ""); err != nil || got != "the-value-of-the-variable" {
			t.Errorf("%s: got %q, %v, want the value of all", principal, got, err)
		}
		if got := c.Redactor().String("the-value-of-" + principal + " the-value-of-the-variable"); got != "[secret:TOKEN] [secret:TOKEN]" {
			t.Errorf("%s: got %q, want both values redacted", principal, got)
		}
	}
	for principal, want := range map[string]string{"token:eve": "the caller has no value of its own", "": "this one has no name", "anonymous": "this one has no name"} {
		got, err := v.For(principal).Value(own, "--state x")
		var ask *runtime.AskError
		if got != "" || !errors.As(err, &ask) || !strings.Contains(ask.Message, want) || strings.Contains(ask.Message, "eve") {
			t.Errorf("%q: got %q, %v, want %q without its name", principal, got, err, want)
		}
	}
	_, err := v.For("oauth:id|it's").Value(own, "--state x")
	var ask *runtime.AskError
	if want := `sallyport secret set TOKEN --principal 'oauth:id|it'\''s' --state x`; !errors.As(err, &ask) || ask.Hint != want {
		t.Errorf("got %+v, want the hint %s", ask, want)
	}
	if got, err := v.Value(own, ""); err == nil {
		t.Errorf("no caller: got %q, want an error", got)
	}
}

// That the keyring has no value of a caller is known for a minute, and until any value is set.
func TestVault_cachesThatTheKeyringHasNone(t *testing.T) {
	keyring.MockInit()
	t.Cleanup(func() { keyring.MockInitWithError(errors.New("no keyring")) })
	kept := Kept{Dir: filepath.Join(t.TempDir(), "secrets")}
	v := NewVault("", NewVaultKey(), "p", kept).For("token:ann")
	own := kept.For("token:ann")
	want := func(when, name, want string) {
		t.Helper()
		got, err := v.Value(grant.Secret{Name: name, PerPrincipal: true}, "")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", when, got, err, want)
		}
	}
	byHand := func(name, value string) {
		t.Helper()
		if err := keyring.Set(keyringService, own.entry(name), value); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"A", "B", "C"} {
		want("at first", name, "")
		byHand(name, "value-by-hand-0123456789")
		want("set in the keyring by hand", name, "")
	}
	if err := own.write("B", "value-of-a-file-0123456789"); err != nil {
		t.Fatal(err)
	}
	want("a file", "B", "value-of-a-file-0123456789")
	v.absent["C"] = absence{v.absent["C"].stamp, time.Now().Add(-valueAge)}
	want("a minute later", "C", "value-by-hand-0123456789")
	if _, err := kept.For("token:bob").Set("A", "value-of-bob-0123456789"); err != nil {
		t.Fatal(err)
	}
	want("after a value was set", "A", "value-by-hand-0123456789")
	want("of another name", "D", "")
	if _, err := own.Set("D", "value-of-ann-0123456789"); err != nil {
		t.Fatal(err)
	}
	want("set", "D", "value-of-ann-0123456789")
}

// Callers over the bound displace each other, and calls under way keep their values.
func TestVault_keepsFewCallers(t *testing.T) {
	v := NewVault("", NewVaultKey(), "p", Kept{})
	first := v.For("token:0")
	first.remember(Value{Name: "TOKEN", Text: "the-value-of-the-first"})
	for i := range 3 * maxCallers {
		v.For("token:" + strconv.Itoa(i))
	}
	if len(v.callers) > maxCallers {
		t.Errorf("got %d callers, want %d at most", len(v.callers), maxCallers)
	}
	if got := first.Redactor().String("the-value-of-the-first"); got != "[secret:TOKEN]" {
		t.Errorf("got %q, want the value redacted", got)
	}
}

// A source that is slow to read holds up the calls that need its value, and no other call of the plugin.
func TestVault_aSlowSourceHoldsUpNoOtherCaller(t *testing.T) {
	v := NewVault("", NewVaultKey(), "p", Kept{})
	v.mu.Lock() // as Value does while it reads
	defer v.mu.Unlock()
	found := make(chan *Vault, 1)
	go func() { found <- v.For("token:ann") }()
	select {
	case <-found:
	case <-time.After(5 * time.Second):
		t.Error("the vault of a caller waits for a value of the plugin")
	}
}
