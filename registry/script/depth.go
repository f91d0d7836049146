package script

import "fmt"

// maxDepth bounds the brackets that are open at one place. The parser recurses, and a goroutine whose stack is exhausted
// would end the host.
const maxDepth = 2000

// maxRun bounds the code between two of the characters that end an expression or a statement. Operators nest without
// brackets too, at some 1.4 KB of stack each.
const maxRun = 64 << 10

// checkDepth rejects text with more open brackets than any real code has. Brackets in texts and comments count too.
func checkDepth(text []byte) error {
	depth, run := 0, 0
	for i, c := range text {
		if run++; c == ';' || c == ',' || c == '}' {
			run = 0
		}
		if run > maxRun {
			line, column := placeOf(text, i)
			return fmt.Errorf("%d:%d: more than %d KiB without a semicolon, a comma or a closing brace end here", line, column, maxRun>>10)
		}
		switch c {
		case '(', '[', '{':
			if depth++; depth > maxDepth {
				line, column := placeOf(text, i)
				return fmt.Errorf("%d:%d: more than %d brackets are open here", line, column, maxDepth)
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return nil
}

// placeOf returns line and column of an offset, from 1.
func placeOf(text []byte, offset int) (line, column int) {
	line, column = 1, 1
	for _, c := range text[:offset] {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}
