package sanitize_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

func TestText_removesInvisibleCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\r\nwith ünïcode 漢字 😀": "plain\ttext\r\nwith ünïcode 漢字 😀",
		"\x1b[31mred\x1b[0m":               "red",
		"\x1b]0;title\x07after":            "after",
		"\x1b]8;;http://a\x1b\\link":       "link",
		"\x1b(Bx\x1b7y\x1bcz":              "xyz",
		"\u009b2Jx\u009d0;t\u009cy":        "xy",
		"cut \x1b[3":                       "cut ",
		"lone \x1b":                        "lone ",
		"\x1b]0;never ends":                "0;never ends",
		"a\x00b\x08c\x7fd\u0085e":          "abcde",
		"a\u202eb\u2066c\u2069":            "abc",
		"a\u200bb\u2060c\ufeffd":           "abcd",
		"hide\U000e0041\U000e0042":         "hide",
		"a\u200db\u200cc":                  "abc", // Latin letters do not join
		"\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
		"\u0915\u094d\u200d\u0937":                               "\u0915\u094d\u200d\u0937",
		"👩\u200d💻":                                               "👩\u200d💻",
		"👩\u200dx":                                               "👩x",
		"❤\ufe0f\u200d🔥":                                         "❤\ufe0f\u200d🔥",
		"❤\ufe0f\ufe0e\ufe0d":                                    "❤\ufe0f",
		"x\ufe01\ufe02\U000e0101\U000e0102":                      "x",
		"漢\U000e0101字":                                           "漢字",
	} {
		got, n := sanitize.Text(in)
		if got != want {
			t.Errorf("%+q: got %+q, want %+q", in, got, want)
		}
		if (n == 0) != (in == want) {
			t.Errorf("%+q: got %d removed, want some only for a change", in, n)
		}
	}
}

func TestJSON_cleansNamesAndValues(t *testing.T) {
	raw := json.RawMessage(`{"description":"a\u001b[1mb","na\u202eme":1, "deep":[{"t":"x\u200b"},"\b"],"enum":["\u200b"],"n":1.50}`)
	got, n := sanitize.JSON(raw, &sanitize.Shape{Members: map[string]*sanitize.Shape{"enum": sanitize.Leave}})
	if want := `{"description":"ab","name":1, "deep":[{"t":"x"},""],"enum":["\u200b"],"n":1.50}`; string(got) != want || n != 7 {
		t.Errorf("got %s, %d; want %s, 7", got, n, want)
	}
	same := json.RawMessage(`{"a" : "ü\n\t\"" }`)
	if got, n := sanitize.JSON(same, nil); string(got) != string(same) || n != 0 {
		t.Errorf("got %s, %d; want %s, 0", got, n, string(same))
	}
	double := json.RawMessage(`{"name":"first","na\u200bme":"second"}`)
	if got, _ := sanitize.JSON(double, nil); string(got) != `{"name":"first"}` {
		t.Errorf("a member that hides as another: got %s, want %s", got, `{"name":"first"}`)
	}
	for in, want := range map[string]string{
		`{"na\u200bme":1, "name":2}`:                         `{"name":2}`,
		`{"a":1, "\u200b":2 ,"b":3}`:                         `{"a":1 ,"b":3}`,
		`{"\u200b":2}`:                                       `{}`,
		`{"\u200b":2 , "\u200ba":[{"\u200b":1}]}`:            `{"a":[{}]}`,
		`{"x\u200b":{"y":"\u200b"},"X":1}`:                   `{"X":1}`,
		`{"a\u200b":1,"a\u200c":2,"a\u200d":3,"b":"\u200b"}`: `{"a":1,"b":""}`,
		`["\u200b", {"a" : "\u200b" }, 1e3]`:                 `["", {"a" : "" }, 1e3]`,
		// Unpaired surrogates, which strict parsers refuse.
		`["\udfff", "a\ud83d", "\ud83d\ude00", "\\ud83d", "\ude00\ud83d", "\ud83d\n", "\ud83dx", "\ud83d\u0041"]`: `["�", "a�", "\ud83d\ude00", "\\ud83d", "��", "�\n", "�x", "�A"]`,
		`{"\udfff":1,"\ud800":2}`: `{"�":1}`,
	} {
		if got, _ := sanitize.JSON(json.RawMessage(in), nil); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	list := &sanitize.Shape{Elements: &sanitize.Shape{Members: map[string]*sanitize.Shape{"data": sanitize.Leave}}}
	if got, n := sanitize.JSON(json.RawMessage(`[{"data":{"x":["\u200b"]},"text":{"data":"\u200b"}}]`), list); string(got) != `[{"data":{"x":["\u200b"]},"text":{"data":""}}]` || n != 1 {
		t.Errorf("by place: got %s, want %s", got, `[{"data":{"x":["\u200b"]},"text":{"data":""}}]`)
	}
}

// Clean text is unchanged, cleaning is idempotent, and valid text stays valid.
func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred", "\x1b]0;t\x07", "👩\u200d💻", "a\u200d\u200db", "\u009b\u009b1", "\x1b\x1b[[1m", "\u202e\ufe0f\ufe0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, n := sanitize.Text(s)
		if utf8.ValidString(s) && !utf8.ValidString(once) {
			t.Errorf("%q: got %q, want UTF-8", s, once)
		}
		if strings.ContainsAny(once, "\x1b\x00\u202e\u200b\u009b") {
			t.Errorf("%q: got %q, want no control characters", s, once)
		}
		if again, _ := sanitize.Text(once); again != once {
			t.Errorf("%q: got %q when cleaned again, want %q", s, again, once)
		}
		if n == 0 && utf8.ValidString(s) && once != s {
			t.Errorf("%q: got %q with 0 removed, want no change", s, once)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("plain text\\n", 1000) + `"}]}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		sanitize.JSON(raw, nil)
	}
}
