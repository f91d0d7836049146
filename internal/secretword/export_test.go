package secretword

// Alike returns the Latin letter that looks like letter, or "".
func Alike(letter rune) string { return alike[letter] }
