package jsonschema

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// decimal is an exact, immutable number. The zero decimal is 0.
type decimal struct {
	small int64 // if short
	short bool  // written as an integer of up to 18 digits, the common case
	wide  wide  // if not short, and always after decimalOfRat
}

// decimalOf parses a valid JSON number.
func decimalOf(raw []byte) decimal {
	if small, ok := smallInt(raw); ok {
		return decimal{small: small, short: true}
	}
	return decimal{wide: parse(raw)}
}

// decimalOfRat returns a fraction with a finite decimal form, and its text.
func decimalOfRat(r *big.Rat) (decimal, string) {
	places, _ := r.FloatPrec()
	text := r.FloatString(places)
	n := decimalOf([]byte(text))
	n.wide = parse([]byte(text))
	return n, text
}

// isInteger reports whether n has no fractional part.
func (n decimal) isInteger() bool { return n.short || n.wide.isInteger() }

// cmp compares like big.Int.Cmp. Its cost depends on the length of the numbers, not on their exponents.
func (n decimal) cmp(m decimal) int {
	if n.short && m.short {
		return cmp.Compare(n.small, m.small)
	}
	return n.exact().cmp(m.exact())
}

// isMultiple reports whether n is an integer multiple of m, which must not be zero.
func (n decimal) isMultiple(m decimal) bool { return n.exact().isMultiple(m.exact()) }

func (n decimal) exact() wide {
	if n.short && len(n.wide.digits) == 0 {
		return parse(strconv.AppendInt(nil, n.small, 10))
	}
	return n.wide
}

// appendKey appends a canonical text, the same exactly for equal numbers. raw is a valid JSON number.
func appendKey(dst, raw []byte) []byte { return parse(raw).appendKey(dst) }

// wide is a number of any length: 0.digits × 10^exp, with digits free of leading and trailing zeros. Zero has no
// digits.
type wide struct {
	negative bool
	digits   []byte
	exp      int64
}

// maxExp is the saturation limit of exponents. Numbers beyond it compare as equal.
const maxExp = 1 << 60

// parse parses a valid JSON number.
func parse(raw []byte) wide {
	var d wide
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		d.exp = parseExponent(raw[i+1:])
		raw = raw[:i]
	}
	d.digits = raw
	if i := bytes.IndexByte(raw, '.'); i >= 0 {
		d.digits = append(append(make([]byte, 0, len(raw)), raw[:i]...), raw[i+1:]...)
		raw = raw[:i]
	}
	d.exp += int64(len(raw))
	return d.trim()
}

func (d wide) trim() wide {
	whole := len(d.digits)
	d.digits = bytes.TrimLeft(d.digits, "0")
	d.exp -= int64(whole - len(d.digits))
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		return wide{}
	}
	return d
}

func parseExponent(text []byte) int64 {
	e, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || e > maxExp || e < -maxExp {
		if text[0] == '-' {
			return -maxExp
		}
		return maxExp
	}
	return e
}

func (d wide) isInteger() bool { return int64(len(d.digits)) <= d.exp || len(d.digits) == 0 }

// cmp compares like big.Int.Cmp.
func (d wide) cmp(e wide) int {
	if d.sign() != e.sign() {
		return cmp.Compare(d.sign(), e.sign())
	}
	if order := cmp.Compare(d.exp, e.exp); order != 0 {
		return order * d.sign()
	}
	return bytes.Compare(d.digits, e.digits) * d.sign()
}

func (d wide) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// isMultiple reports whether d is an integer multiple of m, which must not be zero. With d = a·10^x and m = b·10^y,
// for integers a and b without trailing zeros, it tests b | a·10^(x−y) by modular powers for any exponent. If x <
// y, d has more decimal places than any multiple of m.
func (d wide) isMultiple(m wide) bool {
	if len(d.digits) == 0 || len(m.digits) == 0 {
		return len(d.digits) == 0
	}
	a, x := d.whole()
	b, y := m.whole()
	if x < y {
		return false
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(x-y), b)
	return power.Mul(power, a).Mod(power, b).Sign() == 0
}

// whole returns the digits as an integer, and their power of ten.
func (d wide) whole() (*big.Int, int64) {
	n, _ := new(big.Int).SetString(string(d.digits), 10)
	return n, d.exp - int64(len(d.digits))
}

// appendKey appends the canonical text.
func (d wide) appendKey(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, d.exp, 10)
}

// smallInt parses an integer of up to 18 digits, the common case.
func smallInt(raw []byte) (n int64, ok bool) {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if raw[0] == '-' {
		n = -n
	}
	return n, true
}
