package rewrite_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// specVersions are the versions of the specification whose tests run. Those of version 2 include almost all of version
// 1.
var specVersions = flag.String("spec", "v2,exception-handling,extended-const,tail-call", "which versions of the specification's tests to run")

// specDir returns the folder of the specification's tests, which are in wazero's module.
func specDir(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal("where wazero's module is:", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// script is a test of the specification, in the format of wast2json.
type script struct {
	Commands []command
}

type command struct {
	Type, Name, As, Filename string
	Line                     int
	Action                   action
}

type action struct {
	Type, Field, Module string
	Args                []value
}

type value struct {
	Type  string
	Lane  string `json:"lane_type"`
	Value any
}

// bits encodes a value for wazero.
func (v value) bits() []uint64 {
	lanes, ok := v.Value.([]any)
	if !ok {
		s, _ := v.Value.(string)
		if s == "null" {
			return []uint64{0}
		}
		return []uint64{number(s)}
	}
	var out [2]uint64
	width := 128 / len(lanes)
	for i, l := range lanes {
		s, _ := l.(string)
		n := number(s)
		if width < 64 {
			n &= 1<<width - 1
		}
		out[i*width/64] |= n << (i * width % 64)
	}
	return out[:]
}

func number(s string) uint64 {
	if strings.HasPrefix(s, "-") {
		n, _ := strconv.ParseInt(s, 10, 64)
		return uint64(n)
	}
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// world is a runtime for a script: one with the original modules, one with the rewritten ones.
type world struct {
	*host
	rewritten bool
	modules   map[string]api.Module
	last      api.Module
}

func newWorld(t *testing.T, dir string, rewritten bool) *world {
	t.Helper()
	ctx := context.Background()
	with := features
	if !rewritten {
		with |= experimental.CoreFeaturesExceptionHandling | experimental.CoreFeaturesExtendedConst
	}
	h, err := newHost(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(with))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(ctx) })
	spectest, err := os.ReadFile(filepath.Join(dir, "testdata", "spectest.wasm"))
	if err != nil {
		t.Skip(err)
	}
	if _, err := h.InstantiateWithConfig(ctx, spectest, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	return &world{host: h, rewritten: rewritten, modules: make(map[string]api.Module)}
}

// compiles returns the error for an invalid module.
func (w *world) compiles(wasm []byte) error {
	if w.rewritten {
		out, _, err := rewriteWasm(wasm, both)
		if err != nil {
			return err
		}
		wasm = out
	}
	c, err := w.CompileModule(context.Background(), wasm)
	if err == nil {
		_ = c.Close(context.Background())
	}
	return err
}

func (w *world) instantiate(wasm []byte, name, registered string) error {
	ctx := context.Background()
	config := wazero.NewModuleConfig().WithName(registered)
	var m api.Module
	var err error
	if w.rewritten {
		var g *guest
		if g, err = w.load(ctx, wasm, config); err == nil {
			m = g.Module
		}
	} else {
		m, err = w.InstantiateWithConfig(ctx, wasm, config.WithStartFunctions())
	}
	if err == nil {
		w.last = m
		if name != "" {
			w.modules[name] = m
		}
	}
	return err
}

// do runs an action. The result is empty for a missing module, in both worlds.
func (w *world) do(a action) (results []uint64, trap string) {
	m := w.last
	if a.Module != "" {
		m = w.modules[a.Module]
	}
	if m == nil {
		return nil, "no module"
	}
	for _, other := range w.modules {
		reset(other)
	}
	reset(m)
	if a.Type == "get" && m.ExportedGlobal(a.Field) == nil {
		return nil, "no global"
	} else if a.Type == "get" {
		return []uint64{m.ExportedGlobal(a.Field).Get()}, ""
	}
	var args []uint64
	for _, v := range a.Args {
		args = append(args, v.bits()...)
	}
	f := m.ExportedFunction(a.Field)
	if f == nil {
		return nil, "no function"
	}
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		trap, _, _ = strings.Cut(err.Error(), "\n")
	}
	for i, t := range f.Definition().ResultTypes() {
		if t == 0x70 && i < len(results) { // the address of a function differs between the worlds
			results[i] = min(results[i], 1)
		}
	}
	return results, trap
}

// counts is the number of comparisons.
type counts struct{ modules, invalid, actions int }

// TestSpec_holdsAfterRewriting runs the specification's tests with the original and the rewritten modules. Modules
// that wazero compiles must still compile, those that it rejects must still be rejected, and every action must end
// in the same way.
func TestSpec_holdsAfterRewriting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	dir := specDir(t)
	for version := range strings.SplitSeq(*specVersions, ",") {
		var n counts
		files, _ := filepath.Glob(filepath.Join(dir, version, "testdata", "*.json"))
		for _, file := range files {
			t.Run(version+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				runScript(t, dir, file, &n)
			})
		}
		t.Logf("%s: %d modules, %d invalid ones, %d actions", version, n.modules, n.invalid, n.actions)
		if least := specCounts[version]; n.modules < least.modules || n.invalid < least.invalid || n.actions < least.actions {
			t.Errorf("%s: got %d modules, %d invalid, %d actions in %s; want at least %v", version, n.modules, n.invalid, n.actions, dir, least)
		}
	}
}

// specCounts is the minimum for each version.
var specCounts = map[string]counts{"v1": {800, 900, 10_000}, "v2": {800, 900, 10_000}, "exception-handling": {10, 16, 50}, "extended-const": {10, 40, 60}, "tail-call": {6, 24, 78}}

// specExcuses are the places in scripts where rewritten modules differ.
var specExcuses = map[string]string{
	"exception-handling/tag.json 13":        "a tag is imported",
	"exception-handling/try_table.json 10":  "a tag is imported",
	"exception-handling/tag.json 30":        "types of garbage collection",
	"exception-handling/tag.json 40":        "types of garbage collection",
	"exception-handling/try_table.json 364": "an imported function throws, and host functions throw no exceptions",
	"extended-const/data.json 20":           "a sum with an imported global",
	"extended-const/elem.json 38":           "a sum with an imported global",
	"extended-const/global.json 3":          "a sum with an imported global",
}

func runScript(t *testing.T, dir, file string, n *counts) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	version := filepath.Base(filepath.Dir(filepath.Dir(file)))
	plain, rewritten := newWorld(t, dir, false), newWorld(t, dir, true)
	for i, c := range s.Commands {
		if specExcuses[fmt.Sprint(version, "/", filepath.Base(file), " ", c.Line)] != "" {
			continue
		}
		var wasm []byte
		if strings.HasSuffix(c.Filename, ".wasm") {
			if wasm, err = os.ReadFile(filepath.Join(filepath.Dir(file), c.Filename)); err != nil {
				t.Fatal(err)
			}
		}
		switch c.Type {
		case "module", "assert_unlinkable", "assert_uninstantiable":
			n.modules++
			as := ""
			if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
				as = s.Commands[i+1].As
			}
			a, b := plain.instantiate(wasm, c.Name, as), rewritten.instantiate(wasm, c.Name, as)
			if (a == nil) != (b == nil) {
				t.Errorf("line %d, %s: got %v rewritten, want %v as plain", c.Line, c.Type, b, a)
			}
		case "assert_invalid", "assert_malformed":
			if wasm == nil {
				continue
			}
			n.invalid++
			// wazero accepts three of them; invalid modules of version 1 may be valid in version 2.
			if rewritten.compiles(wasm) == nil && (plain.compiles(wasm) != nil || filepath.Base(filepath.Dir(filepath.Dir(file))) == "v2") {
				t.Errorf("line %d, %s: got an invalid module compiled, want an error", c.Line, c.Type)
			}
		case "action", "assert_return", "assert_trap", "assert_exhaustion":
			n.actions++
			compare(t, c, plain, rewritten)
		}
	}
}

func compare(t *testing.T, c command, plain, rewritten *world) {
	a, trapA := plain.do(c.Action)
	b, trapB := rewritten.do(c.Action)
	if c.Type == "assert_exhaustion" && trapA != "" && trapB != "" {
		return
	}
	if trapA != trapB || len(a) != len(b) {
		t.Errorf("line %d, %s %s: got %x %s rewritten, want %x %s as plain", c.Line, c.Type, c.Action.Field, b, trapB, a, trapA)
		return
	}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("line %d, %s %s: got %x rewritten, want %x as plain", c.Line, c.Type, c.Action.Field, b, a)
		}
	}
}
