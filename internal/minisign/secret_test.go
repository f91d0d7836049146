package minisign

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
)

// plainKey is a secret key that minisign 0.11 made without a password, and plainPublic its public key.
const (
	plainKey = "untrusted comment: minisign encrypted secret key\n" +
		"RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgNS3P2U5DaYUUjCeXKlL4H+WJkf8JmHvn+SX5AaGs49kPRT8wJV8q/izkOVFff8P6BYxr2uPOGZQW9I1LsKYwPS7uErD2Gf0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	plainPublic = "RWSA1Lc/ZTkNpvizkOVFff8P6BYxr2uPOGZQW9I1LsKYwPS7uErD2Gf0"
)

// Keys with and without a password sign, and the same content has the same signature.
func TestSecret_signs(t *testing.T) {
	k := minisigntest.New("12345678")
	for name, c := range map[string]struct {
		file             []byte
		password, public string
	}{
		"of minisign":   {[]byte(plainKey), "", plainPublic},
		"line ends":     {[]byte(strings.ReplaceAll(plainKey, "\n", "\r\n")), "", plainPublic},
		"no password":   {k.File(""), "", k.Public()},
		"a password":    {k.File("pässword"), "pässword", k.Public()},
		"without lines": {bytes.TrimSpace(k.File("p")), "p", k.Public()},
	} {
		if Locked(c.file) != (c.password != "") {
			t.Errorf("%s: got locked %v, want %v", name, Locked(c.file), c.password != "")
		}
		secret, err := ParseSecret(c.file, c.password)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := secret.Sign([]byte("content"), "weather 1.2.0")
		if err != nil {
			t.Fatal(err)
		}
		again, _ := secret.Sign([]byte("content"), "weather 1.2.0")
		public, err := secret.Public()
		s, serr := ParseSignature(text)
		if err != nil || serr != nil || public.String() != c.public || s.Comment != "weather 1.2.0" || public.Verify([]byte("content"), s) != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: got key %s and %s, then %s, %v, %v, want the key %s and one signature", name, public, text, again, err, serr, c.public)
		}
	}
}

// Wrong passwords and damaged files sign nothing.
func TestParseSecret_refusesBadKeys(t *testing.T) {
	k := minisigntest.New("12345678")
	damaged := func(file []byte, at int) []byte {
		line := bytes.Split(file, []byte("\n"))[1]
		raw, err := base64.StdEncoding.DecodeString(string(line))
		if err != nil {
			t.Fatal(err)
		}
		raw[at] ^= 0xff
		return []byte(base64.StdEncoding.EncodeToString(raw))
	}
	for name, c := range map[string]struct {
		file           []byte
		password, want string
	}{
		"a wrong password":       {k.File("p"), "q", ErrPassword.Error()},
		"an empty password":      {k.File("p"), "", ErrPassword.Error()},
		"damaged, locked":        {damaged(k.File("p"), 90), "p", ErrPassword.Error()},
		"more memory than 1 GiB": {damaged(k.File("p"), 52), "p", ErrPassword.Error()},
		"short, locked":          {k.File("p")[:100], "p", "is no secret key of minisign"},
		"another algorithm":      {damaged(k.File(""), 0), "", "is no secret key of minisign"},
		"another derivation":     {damaged(k.File(""), 2), "", "is no secret key of minisign"},
		"a public key":           {[]byte(k.Public()), "", "is no secret key of minisign"},
		"a page":                 {[]byte("<html>\n"), "", "is no secret key of minisign"},
		"empty":                  {nil, "", "is no secret key of minisign"},
		"halves of two keys":     {damaged(k.File(""), 100), "", "its halves do not belong together"},
		"a line in the comment":  {k.File(""), "", "is not one of minisign"},
	} {
		secret, err := ParseSecret(c.file, c.password)
		if err == nil {
			comment := "c"
			if name == "a line in the comment" {
				comment = "c\nc"
			}
			_, err = secret.Sign([]byte("content"), comment)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrPassword) != (c.want == ErrPassword.Error()) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// No verb prints the bytes of a key.
func TestSecret_isNotPrinted(t *testing.T) {
	secret, err := ParseSecret([]byte(plainKey), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, secret); got != "a secret key of minisign" {
			t.Errorf("%s: got %q, want none of the key", verb, got)
		}
	}
}
