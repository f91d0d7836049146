package untrusted

// Alike returns the letters that look like a Latin letter.
func Alike(letter rune) string { return alike[letter] }
