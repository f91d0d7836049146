package sanitize

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Format characters, ignorable characters and controls are removed alone, in runs and between letters, except where
// they have a role.
func TestText_removesInvisibleUnicode(t *testing.T) {
	d := readUnicodeData(t)
	gone := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		goes := d.ignorable[r] || d.format[r] || unicode.IsControl(r) && !strings.ContainsRune("\n\t\r", r) || r == 0x2800 || r == 0x2028 || r == 0x2029
		if utf8.ValidRune(r) && hidden(r) != goes {
			t.Errorf("%U: got hidden %v, want %v", r, !goes, goes)
		}
		if !goes {
			continue
		}
		gone++
		for _, text := range []string{string(r), strings.Repeat(string(r), 9), "a" + string(r) + "b", "中" + string(r) + string(r) + "字", "." + string(r)} {
			if got, n := Text(text); n == 0 || strings.ContainsRune(got, r) {
				t.Errorf("%U: %+q: got %+q, want it removed", r, text, got)
			}
		}
	}
	t.Logf("%d characters go", gone)
}

// Each standardized sequence is kept, and a selector nowhere else.
func TestText_keepsOnlyStandardVariations(t *testing.T) {
	d := readUnicodeData(t)
	selectors := []rune{0x180b, 0x180c, 0x180d, 0x180f}
	for r := rune(0xfe00); r <= 0xfe0f; r++ {
		selectors = append(selectors, r)
	}
	for r := rune(0xe0100); r <= 0xe01ef; r += 17 {
		selectors = append(selectors, r)
	}
	stay, go_ := 0, 0
	for base := rune(0x20); base < 0x32000; base++ {
		near := d.variants[base]|d.variants[base-1]|d.variants[base+1] != 0
		if !utf8.ValidRune(base) || hidden(base) || !near && base%97 != 0 {
			continue
		}
		for i, s := range selectors {
			bit := i + 16
			if i >= 4 {
				bit = i - 4
			}
			standard := i < 20 && d.variants[base]&(1<<bit) != 0
			got, n := Text(string(base) + string(s) + string(s))
			if want := map[bool]string{true: string(base) + string(s), false: string(base)}[standard]; got != want || n == 0 {
				t.Fatalf("%U %U twice: got %+q with %d removed, want %+q", base, s, got, n, want)
			}
			if standard {
				stay++
			} else {
				go_++
			}
		}
	}
	t.Logf("%d sequences stay, %d do not", stay, go_)
	if stay < 1900 {
		t.Errorf("got %d sequences that stay, want at least 1900", stay)
	}
}

// TestText_carriesNoBits encodes random bits with every pair of invisible characters, and with the absence and
// presence of one, in all kinds of text, and checks that none survive.
func TestText_carriesNoBits(t *testing.T) {
	d := readUnicodeData(t)
	var invisible []rune
	for r := range d.ignorable {
		invisible = append(invisible, r)
	}
	for r := range d.format {
		if !unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // visible
			invisible = append(invisible, r)
		}
	}
	invisible = append(invisible, 0x2800, 0x2028, 0x2029, 0)
	random := rand.New(rand.NewPCG(3, 4))
	messages := 0
	for range 30_000 {
		zero, one := invisible[random.IntN(len(invisible))], invisible[random.IntN(len(invisible))]
		cover := []string{"", "a", "word ", "中", "(", ".", "한", "é"}[random.IntN(8)]
		var first, second strings.Builder
		for range 24 {
			for _, b := range []*strings.Builder{&first, &second} {
				b.WriteString(cover)
				b.WriteRune([]rune{zero, one}[random.IntN(2)])
			}
		}
		a, _ := Text(first.String() + "end")
		b, _ := Text(second.String() + "end")
		messages++
		if blank(zero) == 0 && blank(one) == 0 && a != b {
			t.Fatalf("%U and %U on %q: got %+q and %+q, want one text", zero, one, cover, a, b)
		}
		if strings.ContainsFunc(a, hidden) {
			t.Fatalf("%U and %U on %q: got %+q, want no hidden character", zero, one, cover, a)
		}
	}
	t.Logf("%d pairs of messages", messages)
}

// Cleaning is idempotent.
func TestText_isIdempotent(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	alphabet := []rune("aא1.بک漢👩❤क्र্ঽ \u200b\u200c\u200d\u200e\u200f\u061c\u034f\u0600\u180e\u1820\u180b\ufe0f\ufe00\u064b\u05b0\u0300\x1b]\\[m\n\u009b\u2800\u2028\U000e0101\u17b4")
	for range 50_000 {
		var text strings.Builder
		for range random.IntN(14) {
			text.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		once, _ := Text(text.String())
		if again, n := Text(once); n != 0 {
			t.Fatalf("%+q: got %+q when cleaned again, want %+q", text.String(), again, once)
		}
	}
}

// Ordinary texts are unchanged.
func TestText_keepsOrdinaryTexts(t *testing.T) {
	for _, text := range []string{
		"می\u200cخواهم", "کتاب\u200cها", "श्री क्\u200dष", "র\u200d্যাব", "ന്\u200d", "ක්\u200dෂ", "क्\u200cष",
		"👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ☺\ufe0e 👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈", "\u0600١٢", "\u06dd١", "שלום\u200f!", "C++\u200e שלום",
		"ᠬᠠᠷ\u180eᠠ", "ᠠ\u180b", "≩\ufe00", "Zürich naïve Ελληνικά русский 日本語　全角 한국어 ไทย ខ្មែរ", "וְאֵ\u034fת",
	} {
		if got, n := Text(text); got != text || n != 0 {
			t.Errorf("%+q: got %+q with %d removed, want no change", text, got, n)
		}
	}
}
