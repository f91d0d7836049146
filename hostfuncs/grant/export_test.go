package grant

// Words lists what a line may begin with, as errors do.
func Words() string { return wordsOf() }
