package hostfuncs

import (
	"io"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Files returns the tree of the guest of g.
func (g *Gate) Files() wasi.Tree { return mountFiles(g, nil) }

// Env returns the environment of guests of p.
func (p *Policy) Env() []string { return p.env }

// ProgramEnv returns the environment of the program of g, without that of its plugin.
func (g *Gate) ProgramEnv() []string { return g.program.env }

// Output is the guest's standard error.
func (g *Gate) Output() io.Writer {
	g.WASI()
	return g.stderr.Load()
}
