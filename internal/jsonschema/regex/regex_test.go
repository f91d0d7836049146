package regex_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/sallyport-mcp/sallyport/internal/jsonschema/regex"
)

const bound = 1_000_000

func TestMatch_followsECMAScript(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`^a+$`, "aaa", true}, {`^a+$`, "aab", false}, {`b`, "aab", true}, {``, "", true}, {`^$`, "x", false}, {`^(?:ab)*$`, "ababab", true}, {`^(?:ab)*$`, "ababa", false},
		{`^(a|b)*c$`, "abbac", true}, {`^(\w+)-\1$`, "ab-ab", true}, {`^(\w+)-\1$`, "ab-ac", false}, {`^(?!foo)`, "foobar", false}, {`^(?!foo)`, "bar", true},
		{`(?<=a)b`, "ab", true}, {`(?<=a)b`, "cb", false}, {`(?<!a)b`, "ab", false}, {`(?<=(\d+)(\d+))$`, "1053", true}, {`^(?=.*\d)(?=.*[a-z]).{4,8}$`, "abc1", true},
		{`^(?=.*\d)(?=.*[a-z]).{4,8}$`, "abcd", false}, {`^(a{2,3}){2}$`, "aaaaa", true}, {`^(a{2,3}){2}$`, "aaaaaaa", false}, {`^(?:a?){3}$`, "aa", true}, {`^(?:a?){3}b`, "aaaab", false},
		{`^(?:)*$`, "", true}, {`^(?:a*)*b$`, "aaab", true}, {`^(?:a*)*b$`, "aaac", false}, {`^.{1000000000}$`, "a", false}, {`^(?:){1000000000}$`, "", true}, {`\bfoo\b`, "a foo b", true},
		{`\bfoo\b`, "afoob", false}, {`^\S+@\S+$`, "a@b", true}, {`^[^\s]+$`, "a b", false}, {`^\p{L}+$`, "größe", true}, {`^.$`, "😀", true}, {`^a.b$`, "a\nb", false}, {`a*?b`, "aab", true},
		{`^(?:a|ab)(?:c|bcd)(?:d*)$`, "abcd", true}, {`(z)((a+)?(b+)?(c))*`, "zaacbbbcac", true}, {`^(?:(a)|b)*\1$`, "aba", false}, {`^(?:(a)|b)*\1$`, "ab", true},
	} {
		p, err := regex.Compile(c.pattern, true)
		if err != nil {
			t.Errorf("%s: got %v, want no error", c.pattern, err)
			continue
		}
		if ok, steps, err := p.Match([]byte(c.text), bound); err != nil || ok != c.want || steps > 1000 {
			t.Errorf("%s on %q: got %v, %d steps, %v; want %v, at most 1000", c.pattern, c.text, ok, steps, err, c.want)
		}
	}
}

// Exponential matches end at their step limit, with a reproducible number of steps.
func TestMatch_endsAtItsStepLimit(t *testing.T) {
	long := strings.Repeat("a", 40) + "!"
	for _, c := range []struct{ pattern, text string }{
		{`^(a+)+$`, long}, {`^(a|aa)+$`, long}, {`^(.*a){20}$`, long}, {`(x+x+)+y`, strings.Repeat("x", 40)},
		{`^(?=(a+)+$)`, long}, {`^(?!(a+)+$)`, long}, {`(?<=^(a+)+)!$`, "b" + strings.Repeat("a", 40) + "!"}, {`^(\w+\s?)*$`, strings.Repeat("word ", 20) + "!"}, {`^(([a-z])+.)+[A-Z]([a-z])+$`, strings.Repeat("a", 60)},
		{`^(?:(a*)*)*b\1$`, long}, {`(?:a*)*c`, strings.Repeat("a", 5000)},
	} {
		p, err := regex.Compile(c.pattern, true)
		if err != nil {
			t.Fatal(err)
		}
		ok, steps, err := p.Match([]byte(c.text), bound)
		if !errors.Is(err, regex.ErrSteps) || ok || steps != bound {
			t.Errorf("%s: got %v, %d steps, %v; want false, %d, %v", c.pattern, ok, steps, err, bound, regex.ErrSteps)
		}
		if _, less, err := p.Match([]byte(c.text), 1000); less != 1000 || err == nil {
			t.Errorf("%s: got %d steps, %v; want 1000, an error", c.pattern, less, err)
		}
	}
}

// A long text costs about one step per character and no Go stack.
func TestMatch_usesNoStackForLongTexts(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`^[a-z]*$`, strings.Repeat("a", 4<<20), true}, {`^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`, strings.Repeat("abcd", 1<<18), true},
		{`^(?:ab)+$`, strings.Repeat("ab", 1<<19) + "c", false}, {`x$`, strings.Repeat("a", 4<<20) + "x", true}, {`^(?:\w+,)*$`, strings.Repeat("abcd,", 1<<18), true},
	} {
		p, err := regex.Compile(c.pattern, true)
		if err != nil {
			t.Fatal(err)
		}
		ok, steps, err := p.Match([]byte(c.text), 40_000_000)
		if err != nil || ok != c.want || steps > 4*len(c.text) {
			t.Errorf("%s: got %v, %d steps, %v; want %v, at most %d", c.pattern, ok, steps, err, c.want, 4*len(c.text))
		}
	}
}

// pieces are parts for generated patterns of TestMatch_agreesWithTheLibrary.
var pieces = []string{"a", "b", "c", ".", `\d`, `\w`, `\W`, `\s`, "[ab]", "[^a]", `[a-c\d]`, `\b`, `\B`, "^", "$", "(a|b)", "(?:ab|a)", "(a*)", "(b+)?", "(?:a|)", "(a)(b)?", `\1`, "é", `\u0061`, `\x62`, "(?=a)", "(?!b)", "(?<=a)", "(?<!b)",
	"(?=(a+))", `(?<=(\w)b)`, "a{2}", "(?:ab){1,2}", "(a|ab)(c|bcd)", "[^]", "[]", "(?<n>a)", `\k<n>`, "(?:a*?)", "(?:)", "()", "(?i:A)", `(?i:(\w)\1)`, `(?i:\b)`, `(?i:\B)`, "(?i:[s-z])", "(?m:^)", "(?m:$)", "(?s:.)", "😀"}

var quantifiers = []string{"", "", "", "", "*", "+", "?", "*?", "+?", "??", "{0}", "{2}", "{1,}", "{0,2}", "{1,3}?"}

func madePattern(r *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		piece := pieces[r.IntN(len(pieces))]
		if depth > 0 && r.IntN(3) == 0 {
			open := []string{"(", "(?:", "(?=", "(?!", "(?<=", "(?<!"}[r.IntN(6)]
			piece = open + madePattern(r, depth-1) + ")"
		}
		if q := quantifiers[r.IntN(len(quantifiers))]; q != "" {
			piece = "(?:" + piece + ")" + q
		}
		b.WriteString(piece)
		if r.IntN(6) == 0 {
			b.WriteByte('|')
		}
	}
	return b.String()
}

// TestMatch_agreesWithTheLibrary compares matches with the library's own engine.
func TestMatch_agreesWithTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tried, matched, unknown := 0, 0, 0
	for range 40_000 {
		source := madePattern(r, 2)
		unicode := r.IntN(2) == 0
		options := []regexp2.CompileOption{regexp2.ECMAScript}
		if unicode {
			options = append(options, regexp2.Unicode)
		}
		re, err := regexp2.Compile(source, options...)
		p, ours := regex.Compile(source, unicode)
		if (err == nil) != (ours == nil) {
			t.Fatalf("%s: got %v, want %v as of the library", source, ours, err)
		}
		if err != nil {
			unknown++
			continue
		}
		re.MatchTimeout = time.Minute
		for range 8 {
			var text strings.Builder
			for range r.IntN(8) {
				text.WriteString([]string{"a", "a", "b", "b", "c", "d", "1", " ", "\n", "é", "_", "\u2028", "😀", "A", "S", "ſ", "\u212a", "É"}[r.IntN(18)])
			}
			want, err := re.MatchString(text.String())
			if err != nil {
				t.Fatalf("%s: the library: got %v, want no error", source, err)
			}
			got, _, err := p.Match([]byte(text.String()), 10*bound)
			if err != nil || got != want {
				t.Fatalf("%s on %q: %v, %v, the library %v", source, text.String(), got, err, want)
			}
			tried++
			if got {
				matched++
			}
		}
	}
	t.Logf("%d matches, %d of them yes, %d patterns that neither takes", tried, matched, unknown)
}

// A match never exceeds its step limit, and otherwise has the library's result.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{{`^(a+)+$`, "aaaa!"}, {`(?<=(\w)b)\1`, "aba"}, {`(?i:(k)\1)`, "k\u212a"}, {`(?:a|){3,}?b`, "aab"}, {`[^]*?\B`, "😀\n"}} {
		f.Add(seed[0], seed[1], true)
	}
	f.Fuzz(func(t *testing.T, source, text string, unicode bool) {
		p, err := regex.Compile(source, unicode)
		if err != nil {
			return
		}
		got, steps, err := p.Match([]byte(text), 100_000)
		if steps > 100_000 {
			t.Fatalf("got %d steps, want at most 100000", steps)
		}
		options := []regexp2.CompileOption{regexp2.ECMAScript}
		if unicode {
			options = append(options, regexp2.Unicode)
		}
		re, other := regexp2.Compile(source, options...)
		if err != nil || other != nil {
			return
		}
		re.MatchTimeout = 10 * time.Second
		if want, err := re.MatchString(text); err == nil && got != want {
			t.Errorf("%q on %q: %v, the library %v", source, text, got, want)
		}
	})
}
