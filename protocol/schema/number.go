package schema

import (
	"bytes"
	"math/big"
	"strconv"
)

// decimal is a number as it was written: 0.digits × 10^exp, without zeros at either end of
// digits. Zero has no digits. Comparing two costs their length, whatever their exponents.
type decimal struct {
	negative bool
	digits   []byte
	exp      int64
}

// maxExp is where exponents stop; what lies beyond is equal for every purpose here.
const maxExp = 1 << 60

// parseDecimal reads a valid JSON number.
func parseDecimal(raw []byte) decimal {
	var d decimal
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

func (d decimal) trim() decimal {
	whole := len(d.digits)
	d.digits = bytes.TrimLeft(d.digits, "0")
	d.exp -= int64(whole - len(d.digits))
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		return decimal{}
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

// fromRat is for the bounds in a schema, which the library keeps as fractions. All of them were
// decimals once.
func fromRat(r *big.Rat) decimal {
	places, _ := r.FloatPrec()
	return parseDecimal([]byte(r.FloatString(places)))
}

func (d decimal) isInteger() bool { return int64(len(d.digits)) <= d.exp || len(d.digits) == 0 }

// cmp compares as big.Int.Cmp does.
func (d decimal) cmp(e decimal) int {
	if d.sign() != e.sign() {
		return compare(d.sign(), e.sign())
	}
	if order := compare(d.exp, e.exp); order != 0 {
		return order * d.sign()
	}
	return bytes.Compare(d.digits, e.digits) * d.sign()
}

func (d decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func compare[T int | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// isMultiple reports whether d is a whole multiple of m, which is not zero. With d = a·10^x and
// m = b·10^y, a and b whole and ending in no zero, it asks for b | a·10^(x−y), which modular
// powers answer for every exponent; and where x < y, d has more places than any multiple of m.
func (d decimal) isMultiple(m decimal) bool {
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

// whole is the digits as an integer, and the power of ten that they count.
func (d decimal) whole() (*big.Int, int64) {
	n, _ := new(big.Int).SetString(string(d.digits), 10)
	return n, d.exp - int64(len(d.digits))
}

// appendKey appends what equal numbers have in common.
func (d decimal) appendKey(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, d.exp, 10)
}

// smallInt reads an integer of up to 18 digits, the common case.
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

func fromSmall(n int64) decimal { return parseDecimal(strconv.AppendInt(nil, n, 10)) }
