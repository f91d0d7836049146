package jsonraw

func scanNumber(b []byte, i int) (int, problem) {
	if b[i] == '-' {
		i++
	} else if !digitAt(b, i) {
		return i, badCharacter
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, p := scanDigits(b, i); p != fine {
		return i, p
	} else {
		return scanFraction(b, i)
	}
	return scanFraction(b, i)
}

// scanFraction scans the optional fraction and exponent of a number.
func scanFraction(b []byte, i int) (int, problem) {
	var p problem
	if i < len(b) && b[i] == '.' {
		if i, p = scanDigits(b, i+1); p != fine {
			return i, p
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i, fine
}

// scanDigits scans one or more digits.
func scanDigits(b []byte, i int) (int, problem) {
	if !digitAt(b, i) {
		if i >= len(b) {
			return i, endOfInput
		}
		return i, badNumber
	}
	for digitAt(b, i) {
		i++
	}
	return i, fine
}

func digitAt(b []byte, i int) bool {
	return i < len(b) && b[i]-'0' <= 9
}
