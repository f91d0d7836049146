package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/runtime/codecache"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// prepared is a checked and rewritten module, and the facts of the original that its instances need.
type prepared struct {
	facts
	wasm    []byte // for the compiler; nil if it comes from the folder of the cache
	outline []byte // for the engine, once there is machine code; nil without a folder
	data    []rewrite.Data
}

// facts are stored beside the rewritten module.
type facts struct {
	Mark            string // of the rewritten module, see markOf
	Imports         []wasmbin.Import
	Exports         exports
	Custom          map[string][]byte
	Minimum, Beside uint64
	Info            rewrite.Info           // without Data
	Segments        int                    // number of Info.Data
	From            map[int]wasmbin.Import // their members of this name
}

// prepare checks and rewrites a module, or reads the result of a former run from the cache.
func (e *Engine) prepare(wasm []byte, digest string) (*prepared, error) {
	if p, ok := e.preparedBefore(digest); ok {
		return p, e.checkImports(p.Imports)
	}
	return e.prepareAnew(wasm)
}

// tailIndirect reports whether the engine has tail calls through tables: on other machines it restores registers before the
// jump, and may restore the one with the address.
const tailIndirect = goruntime.GOARCH == "amd64"

// prepareAnew checks and rewrites a module.
func (e *Engine) prepareAnew(wasm []byte) (*prepared, error) {
	defer threads.Hold()()
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	checked, err := wasmbin.Check(b, wasmbin.Limits{Memory: maxMemory})
	if err != nil {
		return nil, err
	}
	if err := e.checkImports(b.Imports); err != nil {
		return nil, err
	}
	out, info, err := rewrite.Rewrite(checked, rewrite.Options{Meter: true, Snapshot: true, Simplify: !e.plainly, Depth: maxDepth, TailIndirect: tailIndirect, WaitModule: waitModule, WaitName: waitName, ClockName: clockName})
	if err != nil {
		return nil, err
	}
	p := &prepared{wasm: out, data: merge(info.Data), facts: facts{
		Mark: markOf(out), Imports: b.Imports, Exports: make(exports), Custom: dialectSections(b),
		Minimum: startMemory(b), Beside: checked.Beside, Info: *info,
	}}
	p.Info.Data = nil
	if e.folder != "" {
		if p.outline, err = rewrite.Outline(out); err != nil {
			return nil, err
		}
	}
	for _, x := range b.Exports {
		if x.Kind == wasmbin.Func {
			p.Exports[x.Name] = x
		}
	}
	return p, nil
}

// Compiled reports whether a former run has compiled the module with this digest, in 64 hexadecimal digits, so that
// Compile only has to load it. If files of the cache were removed or damaged since, it takes longer.
func (e *Engine) Compiled(digest string) bool {
	return e.keeps() && e.folder.HasModule(digest, e.version)
}

// keeps reports whether prepared modules are kept between runs.
func (e *Engine) keeps() bool { return e.folder != "" && e.version != "" }

// preparedBefore reads a prepared module from the cache. One that cannot be used is logged and made again.
func (e *Engine) preparedBefore(digest string) (*prepared, bool) {
	if !e.keeps() {
		return nil, false
	}
	raw, outline, err := e.folder.Module(digest, e.version)
	var p *prepared
	if err == nil {
		p, err = decodePrepared(raw, outline)
	}
	switch {
	case err == nil:
		return p, true
	case errors.Is(err, fs.ErrNotExist): // the first run; Compile says what takes long
		e.log.Debug("a plugin is prepared for the compiler, and the result is kept", "module", digest)
	case errors.Is(err, codecache.ErrOtherVersion):
		e.log.Info("a plugin is prepared for the compiler, and the result is kept", "module", digest, "reason", err)
	default:
		e.log.Warn("a prepared plugin in the cache cannot be used and is made again", "module", digest, "error", err)
	}
	return nil, false
}

// keepPrepared stores a prepared module that the compiler accepted.
func (e *Engine) keepPrepared(p *prepared, digest string) {
	if !e.keeps() || p.wasm == nil {
		return
	}
	raw, err := p.encode()
	if err == nil {
		err = e.folder.PutModule(digest, e.version, raw, p.outline)
	}
	if err != nil {
		e.log.Warn("a prepared plugin is not kept, so the next start prepares it again", "module", digest, "error", err)
	}
}

// encode returns everything but the module's code:
//
//	size of the facts, 4 bytes · facts in gob · offset and size of each segment, 4 bytes each · their bytes
func (p *prepared) encode() ([]byte, error) {
	p.Segments, p.From = len(p.data), make(map[int]wasmbin.Import)
	for i, d := range p.data {
		if d.From != nil {
			p.From[i] = *d.From
		}
	}
	var out bytes.Buffer
	out.Write(make([]byte, 4))
	if err := gob.NewEncoder(&out).Encode(&p.facts); err != nil {
		return nil, err
	}
	raw := out.Bytes()
	binary.LittleEndian.PutUint32(raw, uint32(len(raw)-4))
	for _, d := range p.data {
		raw = binary.LittleEndian.AppendUint32(raw, d.Offset)
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(d.Bytes)))
	}
	for _, d := range p.data {
		raw = append(raw, d.Bytes...)
	}
	return raw, nil
}

// decodePrepared is the inverse of encode. Its bytes were verified: an error means a fault of the program.
func decodePrepared(raw, outline []byte) (*prepared, error) {
	p := &prepared{outline: outline}
	if len(raw) < 4 || uint64(binary.LittleEndian.Uint32(raw)) > uint64(len(raw)-4) {
		return nil, errors.New("its facts are cut off")
	}
	head, rest := raw[4:4+binary.LittleEndian.Uint32(raw)], raw[4+binary.LittleEndian.Uint32(raw):]
	if err := gob.NewDecoder(bytes.NewReader(head)).Decode(&p.facts); err != nil {
		return nil, err
	}
	if p.Segments < 0 || p.Segments > len(rest)/8 {
		return nil, errors.New("its data segments are cut off")
	}
	table, all := rest[:8*p.Segments], bytes.Clone(rest[8*p.Segments:]) // the rest is let go
	p.data = make([]rewrite.Data, p.Segments)
	for i := range p.data {
		size := binary.LittleEndian.Uint32(table[8*i+4:])
		if uint64(size) > uint64(len(all)) {
			return nil, errors.New("its data is cut off")
		}
		p.data[i] = rewrite.Data{Offset: binary.LittleEndian.Uint32(table[8*i:]), Bytes: all[:size:size]}
		all = all[size:]
	}
	for i, from := range p.From {
		if i < 0 || i >= len(p.data) {
			return nil, errors.New("an import is that of no data segment")
		}
		p.data[i].From = &from
	}
	return p, nil
}

// programVersion identifies this program, and with it the rules by which it checks and rewrites modules: by its version
// and the stamp of its file, since builds of changed sources have one version. It is "" if the file is unknown.
var programVersion = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	st, err := fileid.Of(path)
	if err != nil {
		return ""
	}
	version := ""
	if b, ok := debug.ReadBuildInfo(); ok {
		version = b.Main.Version
	}
	return fmt.Sprintf("%q %s %s %s", version, st.Key(), compilerVersion(), goruntime.GOARCH)
})
