package jail

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Stat implements wasi.Tree.
func (t *Tree) Stat(path string, follow bool) (wasi.Stat, wasi.Errno) {
	p, e := t.paths.walk(path, follow, Read)
	if e != wasi.ESUCCESS {
		return wasi.Stat{}, e
	}
	defer p.close()
	if e := t.access.see(p, Read); e != wasi.ESUCCESS {
		return wasi.Stat{}, e
	}
	return p.stat()
}

func (p *place) stat() (wasi.Stat, wasi.Errno) {
	info := p.info
	switch {
	case p.synthetic():
		return syntheticStat(p.guest), wasi.ESUCCESS
	case p.name == "":
		var err error
		if info, err = p.parent().root.Stat("."); err != nil {
			return wasi.Stat{}, system.Errno(err)
		}
	}
	return system.Stat(info), wasi.ESUCCESS
}
