// Package regex matches regular expressions of ECMAScript, and counts its steps: a pattern and a text that come from
// strangers can take any time together, and a bound in steps is the same on every machine.
//
//	p, err := regex.Compile(`^(\w+)-\1$`, true)
//	ok, steps, err := p.Match([]byte("ab-ab"), 1_000_000)
//
// A library reads the patterns and knows what their classes hold; its tree becomes a program of ours, which is run with a
// stack of its own for what is still to be tried. It says whether there is a match, and nothing else.
//
// This package is internal to Sallyport and may change.
package regex

import "errors"

// ErrSteps says that a match takes more steps than it may.
var ErrSteps = errors.New("the match takes too many steps")
