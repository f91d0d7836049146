package schema

import (
	"math/big"
	"testing"
	"time"
)

// TestDecimal_AgreesWithBigRat compares with exact arithmetic, where that is affordable.
func TestDecimal_AgreesWithBigRat(t *testing.T) {
	numbers := []string{
		"0", "-0", "0.0", "0e5", "1", "-1", "1.0", "10", "1e1", "100e-1", "0.5", "-0.5", "5e-1", "0.05", "1.5", "15e-1",
		"3", "7", "21", "-21", "2.1e1", "25", "250", "2.5e2", "99.99", "9999e-2", "0.01", "1e-2", "1e20", "100000000000000000000",
		"18446744073709551617", "18446744073709551616", "9007199254740993", "9007199254740992.0000001", "123456789e-4", "-1e-20", "1E+3", "64", "0.125",
	}
	for _, a := range numbers {
		x, _ := new(big.Rat).SetString(a)
		d := parseDecimal([]byte(a))
		if d.isInteger() != x.IsInt() {
			t.Errorf("%s is an integer: %v", a, d.isInteger())
		}
		for _, b := range numbers {
			y, _ := new(big.Rat).SetString(b)
			e := parseDecimal([]byte(b))
			if d.cmp(e) != x.Cmp(y) {
				t.Errorf("cmp(%s, %s) = %d", a, b, d.cmp(e))
			}
			if same := string(d.appendKey(nil)) == string(e.appendKey(nil)); same != (x.Cmp(y) == 0) {
				t.Errorf("%s and %s have the same key: %v", a, b, same)
			}
			if got := newBoundText([]byte(a)); got.cmp(newBound(y)) != x.Cmp(y) {
				t.Errorf("%s against the bound %s: %d", a, b, got.cmp(newBound(y)))
			}
			if y.Sign() != 0 && d.isMultiple(e) != new(big.Rat).Quo(x, y).IsInt() {
				t.Errorf("%s is a multiple of %s: %v", a, b, d.isMultiple(e))
			}
		}
	}
}

func TestCompile_EndsWhenItsTimeIsOver(t *testing.T) {
	c := newCompiler(&Options{}, time.Now().Add(-time.Second))
	if err := c.AddResource(baseURL, map[string]any{"type": "object"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile(baseURL); err == nil || err.Error() != "takes too long to compile" {
		t.Errorf("got %v", err)
	}
}
