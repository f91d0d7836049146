package minisign

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
)

func TestVerify_acceptsBothAlgorithms(t *testing.T) {
	s := minisigntest.New("12345678")
	for _, algorithm := range []string{"Ed", "ED"} {
		for _, key := range []string{s.Public(), "untrusted comment: minisign public key\n" + s.Public() + "\n"} {
			k, err := ParseKey(key)
			if err != nil {
				t.Fatal(err)
			}
			sig, err := ParseSignature([]byte(s.SignAs(algorithm, "content", "version 1")))
			if err != nil {
				t.Fatal(err)
			}
			if err := k.Verify([]byte("content"), sig); err != nil || sig.Comment != "version 1" || sig.ID() != k.ID() || k.ID() != "3837363534333231" {
				t.Errorf("%s: got %v, comment %q, id %s, want it verified", algorithm, err, sig.Comment, k.ID())
			}
		}
	}
}

// The example of minisign's own manual: its key, and a signature of it.
func TestParseKey_readsTheKeyOfMinisign(t *testing.T) {
	k, err := ParseKey("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
	if err != nil || k.ID() != "E7620F1842B4E81F" {
		t.Errorf("got %s, %v, want E7620F1842B4E81F", k.ID(), err)
	}
}

func TestVerify_refusesEachForgery(t *testing.T) {
	s, other := minisigntest.New("12345678"), minisigntest.New("87654321")
	impostor := other
	impostor.ID = s.ID
	good := s.SignAs("ED", "content", "version 1")
	k, err := ParseKey(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	edit := func(line int, text string) string {
		lines := strings.Split(good, "\n")
		lines[line] = text
		return strings.Join(lines, "\n")
	}
	for name, c := range map[string]struct{ signature, content, want string }{
		"other content":     {good, "contend", errContent.Error()},
		"no content":        {good, "", errContent.Error()},
		"other key":         {other.SignAs("ED", "content", ""), "content", "it is signed with the key 3132333435363738, and not with 3837363534333231"},
		"stolen id":         {impostor.SignAs("ED", "content", "version 1"), "content", errContent.Error()},
		"changed comment":   {edit(2, "trusted comment: version 2"), "content", errComment.Error()},
		"comment of others": {edit(3, strings.Split(s.SignAs("ED", "else", "version 1"), "\n")[3]), "content", errComment.Error()},
		"other algorithm":   {strings.Replace(good, strings.Split(good, "\n")[1], base64.StdEncoding.EncodeToString([]byte("XX"+strings.Repeat("x", 72))), 1), "content", `an unknown algorithm, "XX"`},
		"swapped algorithm": {edit(1, swapped(good)), "content", errContent.Error()},
		"empty":             {"", "content", "is not one of minisign"},
		"a page":            {"<html>\n\n\n", "content", "is not one of minisign"},
		"no comment":        {edit(2, "comment: version 1"), "content", "is not one of minisign"},
		"short":             {edit(1, "RWQ="), "content", "is not one of minisign"},
		"short comment":     {edit(3, "RWQ="), "content", "is not one of minisign"},
		"not base64":        {edit(1, "%%%"), "content", "is not one of minisign"},
		"one line more":     {good + "x\n", "content", "is not one of minisign"},
		"huge":              {good + strings.Repeat("x", MaxSignature), "content", "is not one of minisign"},
	} {
		sig, err := ParseSignature([]byte(c.signature))
		if err == nil {
			err = k.Verify([]byte(c.content), sig)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	var key *KeyError
	if sig, err := ParseSignature([]byte(other.SignAs("ED", "content", ""))); err != nil || !errors.As(k.Verify([]byte("content"), sig), &key) {
		t.Errorf("got %v, want a KeyError", err)
	}
}

// swapped returns the line of a signature with the older algorithm.
func swapped(good string) string {
	raw, _ := base64.StdEncoding.DecodeString(strings.Split(good, "\n")[1])
	return base64.StdEncoding.EncodeToString(append([]byte("Ed"), raw[2:]...))
}

func TestParseKey_refusesOtherTexts(t *testing.T) {
	for _, text := range []string{"", "RWQ=", "%%%", strings.Repeat("A", 56), "a\nb\nc", "RUQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"} {
		if k, err := ParseKey(text); err == nil {
			t.Errorf("%q: got key %s, want an error", text, k.ID())
		}
	}
}
