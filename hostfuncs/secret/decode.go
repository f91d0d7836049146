package secret

import (
	"html"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLayers bounds the nesting of escapes, such as JSON in JSON, in a query.
const maxLayers = 3

// maxName bounds the name or the digits of a character reference, in bytes.
const maxName = 32

// char is one possible character of a text, and the index of the next one.
type char struct {
	text string
	next int
}

// chars decodes the possible characters of a text. cut reports that more text could have changed the result.
type chars struct {
	text []byte
	cut  bool
}

// escaped is the decoding of one escape: at most two characters, where producers differ.
type escaped struct {
	n   int
	all [2]char
}

func just(text string, next int) escaped { return escaped{1, [2]char{{text, next}}} }

// meant is the set of possible characters at one index.
type meant struct {
	n   int
	all [2 + 4*maxLayers]char
}

func (m *meant) add(c char) {
	if !slices.Contains(m.all[:m.n], c) {
		m.all[m.n], m.n = c, m.n+1
	}
}

// at returns the possible characters at i: the byte itself, and the decodings of an escape there with up to maxLayers
// layers.
func (c *chars) at(i int) (found meant) {
	if i >= len(c.text) {
		c.cut = true
		return found
	}
	b := c.text[i]
	found.add(char{byteText(b), i + 1})
	switch {
	case b == '+':
		found.add(char{" ", i + 1}) // form encoding
		return found
	case !introduces(b):
		return found
	}
	for layers := 1; layers <= maxLayers; layers++ {
		m := c.layer(i, layers)
		for _, one := range m.all[:m.n] {
			found.add(one)
			if one.text == "+" {
				found.add(char{" ", one.next})
			}
		}
	}
	return found
}

// layer returns the character at i with the given number of escape layers undone. Where producers of the escape
// differ, it returns two.
func (c *chars) layer(i, layers int) (found escaped) {
	if i >= len(c.text) {
		c.cut = true
		return found
	}
	if b := c.text[i]; layers == 0 || !introduces(b) {
		return just(byteText(b), i+1)
	}
	below := c.layer(i, layers-1)
	if below.n == 0 {
		return found
	}
	switch first := below.all[0]; first.text {
	case "%":
		found = c.percent(first.next, layers-1)
	case `\`:
		found = c.backslash(first.next, layers-1)
	case "&":
		found = c.reference(first.next, layers-1)
	}
	if found.n == 0 {
		return below
	}
	return found
}

// bytewise holds the text of each byte.
var bytewise = func() string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return string(all)
}()

func byteText(b byte) string { return bytewise[b : int(b)+1] }

func introduces(b byte) bool { return b == '%' || b == '\\' || b == '&' }

// one returns the single byte at i with the given number of layers undone. ok is false if there is none.
func (c *chars) one(i, layers int) (b byte, next int, ok bool) {
	m := c.layer(i, layers)
	if m.n == 0 || len(m.all[0].text) != 1 {
		return 0, i, false
	}
	return m.all[0].text[0], m.all[0].next, true
}

// digits parses up to most digits of a base.
func (c *chars) digits(i, layers, most, base int) (value rune, n, next int) {
	for next = i; n < most; n++ {
		b, after, ok := c.one(next, layers)
		d := digit(b)
		if !ok || d >= base {
			break
		}
		value, next = min(value*rune(base)+rune(d), 1<<24), after
	}
	return value, n, next
}

func digit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return 99
}

// octet decodes a number of two digits: as a byte, and as a character, since some producers escape characters so.
func octet(value rune, next int) escaped {
	m := just(byteText(byte(value)), next)
	if value >= 0x80 {
		m.n, m.all[1] = 2, char{string(value), next}
	}
	return m
}

// percent parses XX or uXXXX after a percent sign.
func (c *chars) percent(i, layers int) (none escaped) {
	if value, n, next := c.digits(i, layers, 2, 16); n == 2 {
		return octet(value, next)
	}
	if b, next, ok := c.one(i, layers); ok && b == 'u' {
		return c.unit(next, layers, "%")
	}
	return none
}

// unit parses the four digits of a character, or of a surrogate that a second \u or %u completes.
func (c *chars) unit(i, layers int, mark string) (none escaped) {
	high, n, next := c.digits(i, layers, 4, 16)
	if n < 4 {
		return none
	}
	if !utf16.IsSurrogate(high) {
		return just(string(high), next)
	}
	m, next, _ := c.one(next, layers)
	u, next, ok := c.one(next, layers)
	low, n, next := c.digits(next, layers, 4, 16)
	if r := utf16.DecodeRune(high, low); ok && m == mark[0] && u == 'u' && n == 4 && r != utf8.RuneError {
		return just(string(r), next)
	}
	return none
}

// controls maps the letter after a backslash to its control character.
var controls = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a", 'e': "\x1b"}

// backslash parses an escape after the backslash, in the syntax of JSON, JavaScript, Python, Java, C, Rust, Perl or a
// shell.
func (c *chars) backslash(i, layers int) (none escaped) {
	b, next, ok := c.one(i, layers)
	switch {
	case !ok:
		return none
	case b == 'u' || b == 'x':
		if brace, after, ok := c.one(next, layers); ok && brace == '{' {
			value, n, after := c.digits(after, layers, 6, 16)
			if end, after, ok := c.one(after, layers); ok && end == '}' && n > 0 {
				return just(string(value), after)
			}
			return none
		}
		if b == 'u' {
			return c.unit(next, layers, `\`)
		}
		if value, n, after := c.digits(next, layers, 2, 16); n == 2 {
			return octet(value, after)
		}
	case b == 'U':
		if value, n, after := c.digits(next, layers, 8, 16); n == 8 {
			return just(string(value), after)
		}
	case b >= '0' && b <= '7':
		if value, _, after := c.digits(i, layers, 3, 8); value <= 0xff {
			return octet(value, after)
		}
	case controls[b] != "":
		return just(controls[b], next)
	case b < '0' || b > '9' && b < 'A' || b > 'Z' && b < 'a' || b > 'z':
		return just(byteText(b), next)
	}
	return none
}

// reference parses an HTML or XML character reference after its ampersand.
func (c *chars) reference(i, layers int) (none escaped) {
	name := []byte{'&'}
	for next := i; len(name) < maxName; {
		b, after, ok := c.one(next, layers)
		if !ok {
			return none
		}
		name, next = append(name, b), after
		if b == ';' {
			if text := html.UnescapeString(string(name)); text != string(name) {
				return just(text, next)
			}
			return none
		}
		if b != '#' && (b < '0' || b > '9' && b < 'A' || b > 'Z' && b < 'a' || b > 'z') {
			return none
		}
	}
	return none
}
