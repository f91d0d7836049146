package grant

// Words lists the words that a line may begin with, as in errors.
func Words() string { return wordsOf() }
