package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/zalando/go-keyring"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
)

const token = `s3cr&t "töken"/+=?-42`

func redactor() *secret.Redactor { return secret.NewRedactor(secret.Value{Name: "TOKEN", Text: token}) }

func TestRedactor_findsEveryEncoding(t *testing.T) {
	asJSON, _ := json.Marshal(token)
	for name, text := range map[string]string{
		"raw": token, "json": string(asJSON[1 : len(asJSON)-1]), "json, plain": strings.ReplaceAll(token, `"`, `\"`),
		"json, slash": strings.ReplaceAll(strings.ReplaceAll(token, `"`, `\"`), "/", `\/`),
		"json, ascii": `s3cr\u0026t \"t\u00f6ken\"/+=?-42`,
		"query":       url.QueryEscape(token), "path": url.PathEscape(token), "query, lower": strings.ReplaceAll(url.QueryEscape(token), "%C3%B6", "%c3%b6"),
		"hex": hex.EncodeToString([]byte(token)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(token))),
	} {
		if name == "query, lower" {
			text = lower(text)
		}
		got := string(redactor().Text([]byte("a " + text + " b")))
		if got != "a [secret:TOKEN] b" {
			t.Errorf("%s: %q: got %q, want a [secret:TOKEN] b", name, text, got)
		}
	}
}

func lower(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			b.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// In base64 a value has three possible alignments. The remaining letters reveal only bits of the adjacent bytes.
func TestRedactor_findsBase64Alignments(t *testing.T) {
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for before := range 7 {
			for after := range 4 {
				plain := strings.Repeat("u", before) + token + strings.Repeat("v", after)
				text := enc.EncodeToString([]byte(plain))
				got := redactor().String(text)
				if !strings.Contains(got, "[secret:TOKEN]") || len(got) > len(text)-len(token)+len("[secret:TOKEN]") {
					t.Errorf("%d before, %d after: %q: got %q, want [secret:TOKEN] for the token only", before, after, text, got)
				}
			}
		}
	}
}

func TestRedactor_leavesOtherText(t *testing.T) {
	for _, text := range []string{"", "nothing", token[:11], strings.ToUpper(token)} {
		in := []byte(text)
		if got := redactor().Text(in); string(got) != text || len(text) > 0 && &got[0] != &in[0] {
			t.Errorf("%q: got %q, want it unchanged and not copied", text, got)
		}
	}
	if secret.NewRedactor(secret.Value{Name: "A", Text: "short"}) != nil {
		t.Errorf("a short value: got a redactor, want none")
	}
	var none *secret.Redactor
	if none.String("x") != "x" || string(none.Text([]byte("x"))) != "x" {
		t.Errorf("a nil redactor of x: got %q, %q, want x", none.String("x"), none.Text([]byte("x")))
	}
}

func TestRedactor_prefersLongestValue(t *testing.T) {
	r := secret.NewRedactor(secret.Value{Name: "A", Text: "aaaaaaaaaaaaaaa"}, secret.Value{Name: "AB", Text: "aaaaaaaaaaaaaaabbb"}, secret.Value{Name: "C", Text: "cccccccccccccc"})
	got := r.String("aaaaaaaaaaaaaaabbb,aaaaaaaaaaaaaaa,cccccccccccccccccccccccccccc!")
	if got != "[secret:AB],[secret:A],[secret:C]!" {
		t.Errorf("got %s, want [secret:AB],[secret:A],[secret:C]!", got)
	}
}

func TestRedactor_readerFindsPieces(t *testing.T) {
	text := strings.Repeat("x", 5000) + token + "yy" + token[:7] + token + base64.StdEncoding.EncodeToString([]byte("k"+token)) + token[:9]
	want := redactor().String(text)
	for name, from := range map[string]io.Reader{
		"byte by byte": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
		"at once": strings.NewReader(text), "with the end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, err := io.ReadAll(redactor().Reader(io.NopCloser(from)))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, got, want)
		}
	}
}

// Bytes that cannot be part of a value are returned at once: an event must not wait for the next.
func TestRedactor_readerHoldsBackOnlyCandidates(t *testing.T) {
	in, out := io.Pipe()
	r := redactor().Reader(in)
	go out.Write([]byte("data: event\n\n"))
	got := make([]byte, 100)
	n, err := r.Read(got)
	if err != nil || string(got[:n]) != "data: event\n\n" {
		t.Errorf("first event: got %q, %v, want it before the next", got[:n], err)
	}
	r.Close()
	if _, err := out.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write to a closed source: got %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestRedactor_readerKeepsErrors(t *testing.T) {
	broken := errors.New("broken")
	got, err := io.ReadAll(redactor().Reader(io.NopCloser(io.MultiReader(strings.NewReader("a"+token[:9]), iotest.ErrReader(broken)))))
	if !errors.Is(err, broken) || string(got) != "a"+token[:9] {
		t.Errorf("a source that breaks: got %q, %v, want %q, %v", got, err, "a"+token[:9], broken)
	}
}

// Redaction of a stream equals that of the whole text, wherever it is cut, and contains no value.
func FuzzRedactor(f *testing.F) {
	f.Add("a"+token+"b", 3)
	f.Add(token+token, 1)
	f.Add(token[:10]+token, 7)
	f.Fuzz(func(t *testing.T, text string, step int) {
		if step <= 0 || step > 64 {
			return
		}
		r := redactor()
		whole := r.Text([]byte(text))
		if bytes.Contains(whole, []byte(token)) {
			t.Fatalf("got %q, want no token in it", whole)
		}
		got, err := io.ReadAll(r.Reader(io.NopCloser(&steps{text, step})))
		if err != nil || !bytes.Equal(got, whole) {
			t.Fatalf("%q in steps of %d: got %q, %v, want %q", text, step, got, err, whole)
		}
	})
}

type steps struct {
	rest string
	n    int
}

func (s *steps) Read(p []byte) (int, error) {
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, s.rest[:min(s.n, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}

func TestSource_readsEnvironmentFilesAndKeyring(t *testing.T) {
	home := t.TempDir()
	t.Setenv("SALLYPORT_TEST_SECRET", "from the environment")
	if err := os.WriteFile(filepath.Join(home, "key"), []byte("from a file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "two"), []byte("a\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "open"), []byte("for all"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keyring.MockInit()
	if err := keyring.Set("svc", "me/x", "from the keyring"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"env SALLYPORT_TEST_SECRET": "from the environment", "file ~/key": "from a file", "file " + home + "/key": "from a file",
		"keyring svc/me/x":      "from the keyring",
		"env SALLYPORT_TEST_NO": "env SALLYPORT_TEST_NO: it is not set",
		"file ~/none":           "file ~/none: there is no such file",
		"file ~/open":           "file ~/open: others can read or change it (mode 0644): chmod 600 ~/open",
		"file ~/empty":          "file ~/empty: it is empty",
		"file ~/two":            "file ~/two: holds a control character or a line end",
		"file " + home:          "file " + home + ": it is no regular file",
		"keyring svc/you":       "keyring svc/you: it is not set",
	} {
		s, err := secret.ParseSource(text)
		if err != nil || s.String() != text {
			t.Fatalf("%s: got %v, %v, want the same source", text, s, err)
		}
		got, err := s.Read(home)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "env", "env A=B", "file x", "keyring x", "keyring /x", "pass x"} {
		if s, err := secret.ParseSource(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, s)
		}
	}
}
