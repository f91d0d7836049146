package arguments

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

func setRaw(v reflect.Value, raw []byte) error {
	v.SetBytes(bytes.Clone(raw))
	return nil
}

// setByLibrary decodes with encoding/json, for types with their own decoder and interfaces.
func setByLibrary(v reflect.Value, raw []byte) error {
	err := json.Unmarshal(raw, v.Addr().Interface())
	if _, wrong := err.(*json.UnmarshalTypeError); wrong {
		return misfit(raw)
	}
	if err != nil {
		return &Error{Err: err}
	}
	return nil
}

func setByText(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		return nil
	}
	text, ok := jsontext.Unquote(raw)
	if !ok {
		return misfit(raw)
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return &Error{Err: err}
	}
	return nil
}

func setText(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		return nil
	}
	s, ok := jsontext.Unquote(raw)
	if !ok {
		return misfit(raw)
	}
	v.SetString(s)
	return nil
}

func setBool(v reflect.Value, raw []byte) error {
	switch string(raw) {
	case "true", "false":
		v.SetBool(raw[0] == 't')
	case "null":
	default:
		return misfit(raw)
	}
	return nil
}

func setInt(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		return nil
	}
	n, err := strconv.ParseInt(integer(raw), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return misfit(raw)
	}
	v.SetInt(n)
	return nil
}

func setUint(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		return nil
	}
	n, err := strconv.ParseUint(integer(raw), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return misfit(raw)
	}
	v.SetUint(n)
	return nil
}

func setFloat(v reflect.Value, raw []byte) error {
	if isNull(raw) {
		return nil
	}
	n, err := strconv.ParseFloat(string(raw), v.Type().Bits())
	if err != nil || raw[0] == '"' {
		return misfit(raw)
	}
	v.SetFloat(n)
	return nil
}

// maxDigits exceeds the digits of any 64-bit integer.
const maxDigits = 20

// integer returns the decimal spelling of a number with an integral value: in JSON Schema, 2.0, 1e3 and 1200e-2 are
// integers. Other numbers, and those too long for any integer, are returned unchanged, so that parsing them fails.
func integer(raw []byte) string {
	s := string(raw)
	if !strings.ContainsAny(s, ".eE") || s[0] == '"' {
		return s
	}
	rest, minus := strings.CutPrefix(s, "-")
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		n, err := strconv.Atoi(rest[i+1:])
		if err != nil {
			return s
		}
		mantissa, exponent = rest[:i], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	zeros := exponent - len(fraction)
	for digits != "" && digits[len(digits)-1] == '0' {
		digits, zeros = digits[:len(digits)-1], zeros+1
	}
	for digits != "" && digits[0] == '0' {
		digits = digits[1:]
	}
	switch {
	case digits == "":
		return "0"
	case zeros < 0 || zeros > maxDigits || len(digits)+zeros > maxDigits:
		return s
	}
	const tens = "00000000000000000000" // maxDigits zeros
	digits += tens[:zeros]
	if minus {
		return "-" + digits
	}
	return digits
}
