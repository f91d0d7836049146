package secretword

// Alike are the letters that look like one.
func Alike(letter rune) string { return alike[letter] }
