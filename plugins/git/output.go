package main

import (
	"fmt"
	"strings"
)

// maxOutput is how much is written at once, under the 256 KiB that a result may have.
const maxOutput = 100 << 10

// output collects text up to maxOutput.
type output struct {
	strings.Builder
	full bool
}

// Write takes what fits. It never fails, so that a writer above it goes on.
func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > maxOutput {
		o.full = true
		return len(p), nil
	}
	if !o.full {
		o.Builder.Write(p)
	}
	return len(p), nil
}

func (o *output) printf(format string, args ...any) { fmt.Fprintf(o, format, args...) }

// String is the text, with a note if some is missing.
func (o *output) String() string {
	text := strings.ToValidUTF8(o.Builder.String(), "\uFFFD")
	if o.full {
		text += fmt.Sprintf("\n(cut after %d KiB; ask for less, with path, max or stat)", maxOutput>>10)
	}
	return text
}
