package hostfuncs

import (
	"io"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Files is the tree that the guest of g sees.
func (g *Gate) Files() wasi.Tree {
	var o wasi.Options
	g.mountFiles(&o)
	return o.Tree
}

// Env is the environment that guests of p see.
func (p *Policy) Env() []string { return p.env }

// Output is the guest's standard error.
func (g *Gate) Output() io.Writer { return &g.stderr }
