// Package regex matches ECMAScript regular expressions with a limit on steps. An untrusted pattern and text can
// take exponential time, and a limit in steps is the same on every machine.
//
//	p, err := regex.Compile(`^(\w+)-\1$`, true)
//	ok, steps, err := p.Match([]byte("ab-ab"), 1_000_000)
//
// A library parses the patterns and their character classes. Its syntax tree is compiled to a program, run with an
// explicit backtracking stack. The result is only whether there is a match.
package regex

import "errors"

// ErrSteps means that a match exceeded its step limit.
var ErrSteps = errors.New("the match takes too many steps")
