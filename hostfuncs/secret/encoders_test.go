package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
)

// encoded is a value in the form of one encoder.
type encoded struct{ by, name, value, text string }

// inGo returns the encodings of a value by Go packages.
func inGo(value string) map[string]string {
	asJSON, _ := json.Marshal(value)
	twice, _ := json.Marshal(string(asJSON))
	var plain, asXML bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	enc.Encode(value)
	xml.EscapeText(&asXML, []byte(value))
	in := []byte(value)
	return map[string]string{
		"raw": value, "json": string(asJSON[1 : len(asJSON)-1]), "json plain": strings.TrimSuffix(plain.String(), "\"\n")[1:], "json twice": string(twice[3 : len(twice)-3]),
		"query": url.QueryEscape(value), "path": url.PathEscape(value), "url": (&url.URL{Path: "/" + value}).String()[1:], "fragment": (&url.URL{Fragment: value}).String()[1:],
		"query of json": url.QueryEscape(string(asJSON[1 : len(asJSON)-1])), "query twice": url.QueryEscape(url.QueryEscape(value)), "query of query of json": url.QueryEscape(url.QueryEscape(string(asJSON[1 : len(asJSON)-1]))),
		"html": html.EscapeString(value), "xml": asXML.String(), "quoted": inner(strconv.Quote(value)), "quoted ascii": inner(strconv.QuoteToASCII(value)),
		"hex": hex.EncodeToString(in), "% x": fmt.Sprintf("% x", in), "%X": fmt.Sprintf("%X", in), "b64": base64.StdEncoding.EncodeToString(in), "b64 url": base64.RawURLEncoding.EncodeToString(in),
		"b64 query": url.QueryEscape(base64.StdEncoding.EncodeToString(in)), "hex json": strings.ReplaceAll(fmt.Sprintf("%x", in), "a", `\u0061`),
	}
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// others are programs that read values in hex, one per line, and write [value, name, text].
var others = map[string][]string{
	"Python": {"python3", "encode.py"}, "Node": {"node", "encode.js"}, "Java": {"java", "Encode.java"}, "Perl": {"perl", "encode.pl"},
}

// made returns random values like those of services and people, with characters that encoders treat differently.
func made(r *rand.Rand, n int) (all []string) {
	alphabets := []string{
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", "0123456789abcdef", "abc123!'()*~-._ /?#[]@$&,;=:+%<>\"\\^`{|}",
		"aZ9\"\\/<>&'+= ", "äöüßéñçøåab12", "日本語キー密ab1&", "😀𝄞a1&<+/\u00ad\u2028", "%u0041&amp;\\x41\\n+2F",
	}
	for len(all) < n {
		letters := []rune(alphabets[r.IntN(len(alphabets))])
		var b strings.Builder
		for range 12 + r.IntN(30) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		if v := b.String(); strings.TrimSpace(v) == v {
			all = append(all, v)
		}
	}
	return all
}

// encode encodes each value with each encoder available on this machine.
func encode(t *testing.T, values []string) (all []encoded) {
	var lines strings.Builder
	for _, v := range values {
		fmt.Fprintln(&lines, hex.EncodeToString([]byte(v)))
		for name, text := range inGo(v) {
			all = append(all, encoded{"Go", name, v, text})
		}
	}
	for language, command := range others {
		path, err := exec.LookPath(command[0])
		if err != nil {
			t.Logf("%s is not on this machine", language)
			continue
		}
		cmd := exec.Command(path, command[1])
		cmd.Dir, cmd.Stdin = filepath.Join("testdata", "encoders"), strings.NewReader(lines.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: got %v, want success", language, err)
		}
		for line := range strings.Lines(string(out)) {
			var said [3]string
			if err := json.Unmarshal([]byte(line), &said); err != nil {
				t.Fatalf("%s: line %q: got %v, want JSON", language, line, err)
			}
			value, _ := hex.DecodeString(said[0])
			all = append(all, encoded{language, said[1], string(value), said[2]})
		}
	}
	return all
}

// Values are redacted completely in the encodings of five languages, in one piece and cut anywhere.
func TestRedactor_findsEncodingsOfLanguages(t *testing.T) {
	const seed = 20261122
	r := rand.New(rand.NewPCG(seed, 1))
	values := append(made(r, 150), token, strings.Repeat("a", 12), "%41%42%43%44%45", `\u0041\u0042\u0043`, "a+b c+d e+f g+h", "------BEGIN/PRIVATE+KEY")
	redactors, count := map[string]*secret.Redactor{}, map[string]int{}
	for _, v := range values {
		redactors[v] = secret.NewRedactor(secret.Value{Name: "S", Text: v})
	}
	for i, e := range encode(t, values) {
		for _, around := range [][2]string{{"", ""}, {"<", ">"}, {`{"k":"`, `"}` + "\n"}, {"?k=", "|x=1"}} {
			want := around[0] + "[secret:S]" + around[1]
			text := around[0] + e.text + around[1]
			if got := redactors[e.value].String(text); !redacted(e, got, want) {
				t.Errorf("%s, %s of %q: %q: got %q, want %q", e.by, e.name, e.value, text, got, want)
			}
			if i%23 != 0 {
				continue
			}
			for name, from := range map[string]io.Reader{
				"byte by byte": iotest.OneByteReader(strings.NewReader(text)), "in two": io.MultiReader(strings.NewReader(text[:len(text)/2]), strings.NewReader(text[len(text)/2:])),
			} {
				got, err := io.ReadAll(redactors[e.value].Reader(io.NopCloser(from)))
				if err != nil || !redacted(e, string(got), want) {
					t.Errorf("%s, %s of %q, %s: %q: got %q, %v, want %q", e.by, e.name, e.value, name, text, got, err, want)
				}
			}
		}
		count[e.by]++
	}
	t.Logf("seed %d: %d values, encodings looked for: %v", seed, len(values), count)
	if len(count) < 1 || count["Go"] < 150*20 {
		t.Errorf("got encodings %v, want at least %d by Go", count, 150*20)
	}
}

// redacted reports whether a text is redacted as expected. Of base64 the last letter, which has bits of the text
// after the value, and padding remain.
func redacted(e encoded, got, want string) bool {
	if !strings.Contains(e.name, "b64") && e.name != "btoa" {
		return got == want
	}
	at := strings.Index(got, "[secret:S]")
	return at >= 0 && len(got) <= len(want)+len("A%253D%253D\\r\\n")
}

// Overlapping secrets are redacted completely, wherever the text is cut.
func TestRedactor_redactsOverlaps(t *testing.T) {
	const a, b, c = "abcdefghijklmno", "lmnopqrstuvwx", "wxyz0123456789"
	r := secret.NewRedactor(secret.Value{Name: "A", Text: a}, secret.Value{Name: "B", Text: b}, secret.Value{Name: "C", Text: c}, secret.Value{Name: "D", Text: "ddddddddddddd"})
	for text, want := range map[string]string{
		"<abcdefghijklmnopqrstuvwx>":                 "<[secret:A][secret:B]>",
		"<abcdefghijklmnopqrstuvwxyz0123456789>":     "<[secret:A][secret:B][secret:C]>",
		"<lmnopqrstuvwxyz0123456789>":                "<[secret:B][secret:C]>",
		a + b + c:                                    "[secret:A][secret:B][secret:C]",
		strings.Repeat("d", 100):                     "[secret:D]",
		"<abcdefghijk%6C%6d\\u006eopqrst&#117;vwx>":  "<[secret:A][secret:B]>",
		"abcdefghijklmnopqrstuv":                     "[secret:A]pqrstuv",
		"abcdefghijklmn" + "abcdefghijklmno" + "pqr": "abcdefghijklmn[secret:A]pqr",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		for cut := range len(text) {
			got, err := io.ReadAll(r.Reader(io.NopCloser(io.MultiReader(strings.NewReader(text[:cut]), strings.NewReader(text[cut:])))))
			if err != nil || string(got) != want {
				t.Errorf("%q cut at %d became %q, want %q, %v", text, cut, got, want, err)
			}
		}
	}
}
