package main

import (
	"fmt"
	"strings"
)

// maxOutput bounds the output, below 256 KiB, the limit of a result.
const maxOutput = 100 << 10

// output collects text up to maxOutput.
type output struct {
	strings.Builder
	full bool
}

// Write keeps the part that fits. It never fails, so that the writers above it continue.
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

// String returns the text, with a note if some was dropped.
func (o *output) String() string {
	text := strings.ToValidUTF8(o.Builder.String(), "\uFFFD")
	if o.full {
		text += fmt.Sprintf("\n(cut after %d KiB; ask for less, with path, max or stat)", maxOutput>>10)
	}
	return text
}
