package jsonraw

// IsObject reports whether a valid JSON text is an object. It is false for nil, like the other functions.
func IsObject(raw []byte) bool { return begins(raw, '{') }

// IsArray reports whether a valid JSON text is an array.
func IsArray(raw []byte) bool { return begins(raw, '[') }

// IsString reports whether a valid JSON text is a string.
func IsString(raw []byte) bool { return begins(raw, '"') }

func begins(raw []byte, c byte) bool { return len(raw) > 0 && raw[0] == c }

// IsInteger reports whether a valid JSON text is a number without fraction and exponent.
func IsInteger(raw []byte) bool {
	if begins(raw, '-') {
		raw = raw[1:]
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) > 0
}
