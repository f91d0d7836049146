package jsonschema

import (
	"math/big"
	"testing"
)

// TestNumber_agreesWithBigRat compares with exact arithmetic where feasible.
func TestNumber_agreesWithBigRat(t *testing.T) {
	numbers := []string{
		"0", "-0", "0.0", "0e5", "1", "-1", "1.0", "10", "1e1", "100e-1", "0.5", "-0.5", "5e-1", "0.05", "1.5", "15e-1",
		"3", "7", "21", "-21", "2.1e1", "25", "250", "2.5e2", "99.99", "9999e-2", "0.01", "1e-2", "1e20", "100000000000000000000",
		"18446744073709551617", "18446744073709551616", "9007199254740993", "9007199254740992.0000001", "123456789e-4", "-1e-20", "1E+3", "64", "0.125",
	}
	for _, a := range numbers {
		x, _ := new(big.Rat).SetString(a)
		d := decimalOf([]byte(a))
		if d.isInteger() != x.IsInt() {
			t.Errorf("%s is an integer: got %v, want %v", a, d.isInteger(), x.IsInt())
		}
		for _, b := range numbers {
			y, _ := new(big.Rat).SetString(b)
			e := decimalOf([]byte(b))
			if d.cmp(e) != x.Cmp(y) {
				t.Errorf("cmp(%s, %s): got %d, want %d", a, b, d.cmp(e), x.Cmp(y))
			}
			if same := string(appendKey(nil, []byte(a))) == string(appendKey(nil, []byte(b))); same != (x.Cmp(y) == 0) {
				t.Errorf("%s and %s: got same key %v, want %v", a, b, same, x.Cmp(y) == 0)
			}
			if bound, text := decimalOfRat(y); d.cmp(bound) != x.Cmp(y) {
				t.Errorf("%s against the bound %s: got %d, want %d", a, text, d.cmp(bound), x.Cmp(y))
			}
			if y.Sign() != 0 && d.isMultiple(e) != new(big.Rat).Quo(x, y).IsInt() {
				t.Errorf("%s is a multiple of %s: got %v, want %v", a, b, d.isMultiple(e), !d.isMultiple(e))
			}
		}
	}
}

// Numbers too large to expand can be compared.
func TestNumber_comparesHugeNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1e999999999", "1e999999998", 1}, {"1e-999999999", "0", 1}, {"-1e999999999", "1", -1},
		{"1e99999999999999999999", "1e9999999999999999999999", 0}, {"10e999999998", "1e999999999", 0},
	} {
		a, b := decimalOf([]byte(c.a)), decimalOf([]byte(c.b))
		if got := a.cmp(b); got != c.want {
			t.Errorf("%s and %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if n := decimalOf([]byte("1e999999999")); !n.isInteger() || !n.isMultiple(decimalOf([]byte("8"))) || n.isMultiple(decimalOf([]byte("7"))) {
		t.Errorf("1e999999999: got integer %v, multiple of 8 %v, of 7 %v; want true, true, false", n.isInteger(), n.isMultiple(decimalOf([]byte("8"))), n.isMultiple(decimalOf([]byte("7"))))
	}
}
