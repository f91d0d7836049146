package jsonschema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// data scans the whole document for values harmful to the library.
func (c *census) data(v any) {
	switch v := v.(type) {
	case json.Number:
		if !modest(string(v)) {
			c.refuse("a number with more than %d digits", maxDigits)
		}
	case map[string]any:
		for _, key := range keys(v) {
			c.in(key, func() { c.data(v[key]) })
		}
	case []any:
		containers := 0
		for i, item := range v {
			if isContainer(item) {
				containers++
			}
			c.in(strconv.Itoa(i), func() { c.data(item) })
		}
		if containers > maxContainers && !c.holdsSchemas() {
			c.refuse("more than %d arrays and objects in one array", maxContainers)
		}
	}
}

// holdsSchemas reports whether the path ends in a keyword with an array of schemas, or one that is never compared.
func (c *census) holdsSchemas() bool {
	if len(c.path) == 0 {
		return false
	}
	last := c.path[len(c.path)-1]
	return keywords[last] == schemaList || last == "items" || last == "examples" || last == "default"
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// modest reports whether a number can be expanded safely.
func modest(number string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(digits) > maxDigits {
		return false
	}
	if exponent == "" {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e >= -maxDigits && e <= maxDigits
}

// cutCount reduces a count to the range of int, as the library would truncate it to its low bits.
func cutCount(n json.Number) json.Number {
	r, ok := new(big.Rat).SetString(string(n))
	if ok && r.Cmp(big.NewRat(maxCount, 1)) > 0 {
		return json.Number(strconv.Itoa(maxCount))
	}
	return n
}
