package sealed

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func keysOf(t *testing.T, secrets ...string) *Keys {
	t.Helper()
	var all [][]byte
	for _, s := range secrets {
		all = append(all, bytes.Repeat([]byte(s), keySize))
	}
	k, err := NewKeys(all...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSeal_opensToTheSameText(t *testing.T) {
	k := keysOf(t, "a")
	for _, plain := range []string{"", "x", strings.Repeat("long ", 10_000)} {
		text := k.Seal([]byte(plain))
		if got, err := k.Open(text); err != nil || string(got) != plain {
			t.Errorf("%.9q: got %.9q, %v; want %.9q, no error", plain, got, err, plain)
		}
		if text == k.Seal([]byte(plain)) {
			t.Errorf("%.9q sealed twice: got one text, want two", plain)
		}
		if len(plain) > 8 && strings.Contains(text, base64.RawURLEncoding.EncodeToString([]byte(plain))) {
			t.Errorf("%.9q: got %q, want it unreadable", plain, text)
		}
	}
}

func TestOpen_refusesChangedText(t *testing.T) {
	k := keysOf(t, "a")
	box, _ := base64.RawURLEncoding.DecodeString(k.Seal([]byte("text")))
	for i := range box {
		changed := bytes.Clone(box)
		changed[i] ^= 1
		if _, err := k.Open(base64.RawURLEncoding.EncodeToString(changed)); !errors.Is(err, ErrInvalid) {
			t.Errorf("byte %d changed: got %v, want %v", i, err, ErrInvalid)
		}
		if _, err := k.Open(base64.RawURLEncoding.EncodeToString(box[:i])); !errors.Is(err, ErrInvalid) {
			t.Errorf("cut at %d: got %v, want %v", i, err, ErrInvalid)
		}
	}
	text := base64.RawURLEncoding.EncodeToString(box)
	for _, other := range []string{"", "-", text + "A", text + "-TAMPERED", text + "=", " " + text, strings.ToLower(text)} {
		if _, err := k.Open(other); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.20q: got %v, want %v", other, err, ErrInvalid)
		}
	}
}

// Rotation puts a new key in front of the old one, then removes the old one.
func TestKeys_openTextOfTheOldKey(t *testing.T) {
	before, both, after := keysOf(t, "a"), keysOf(t, "b", "a"), keysOf(t, "b")
	old, young := before.Seal([]byte("old")), both.Seal([]byte("young"))
	for _, tt := range []struct {
		keys *Keys
		text string
		ok   bool
	}{{before, old, true}, {both, old, true}, {after, old, false}, {before, young, false}, {both, young, true}, {after, young, true}, {Random(), old, false}} {
		if _, err := tt.keys.Open(tt.text); (err == nil) != tt.ok {
			t.Errorf("%+v: got %v, want opened %v", tt, err, tt.ok)
		}
	}
}

func TestNewKeys_boundsTheirNumber(t *testing.T) {
	if _, err := NewKeys(); err == nil {
		t.Error("no keys: got no error, want one")
	}
	if _, err := NewKeys(RandomKey(), make([]byte, keySize-1)); err == nil || err.Error() != "key 2 has 31 bytes: a key has 32 at least" {
		t.Errorf("got %v, want an error", err)
	}
	if _, err := NewKeys(make([][]byte, maxKeys+1)...); err == nil {
		t.Errorf("%d keys: got no error, want one", maxKeys+1)
	}
}
