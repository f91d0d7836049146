package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// attack is one hostile guest with the expected end of each call.
type attack struct {
	name string
	wasm []byte
	// want is "refused: " and the error, a kind and a message, or "answer " and the result. A text that ends in … is a
	// prefix. Several calls have one text if all end alike.
	want    string
	calls   int             // zero means one
	limits  runtime.Limits  // of the plugin; unset fields mean a deadline that fits want and 16 MiB of memory
	dialect runtime.Dialect // nil means run
	most    int             // maximum bytes it may use; zero means mostMemory
}

// The bounds of every attack. They are far above the measured values: they distinguish a guest that is stopped from
// one that is not.
const (
	hangAfter  = 2 * time.Minute
	mostMemory = 700 << 20 // beyond the earlier size of the process
)

// attackGate is the gate of an attack's call: WASI without files, and no other effect.
type attackGate struct {
	wasi   *wasi.State
	cancel func()
}

func newAttackGate(cancel func()) *attackGate {
	return &attackGate{wasi.NewState(wasi.Options{Args: []string{"guest"}, Env: []string{"PWD=/"}}), cancel}
}

func (g *attackGate) WASI() *wasi.State { return g.wasi }

func (g *attackGate) Ask(context.Context, string, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
	return nil, &runtime.AskError{Kind: runtime.KindDenied, Message: "nothing is granted"}
}

// attackHost returns the imports of the guests, beside WASI and the native functions: f returns 1, cancel cancels the
// call as its caller, wait returns when the call is over.
func attackHost() []runtime.HostFunc {
	h := func(name string, call func(ctx context.Context)) runtime.HostFunc {
		return runtime.HostFunc{Module: "h", Name: name, Results: []byte{w.I32},
			Call: func(ctx context.Context, _ runtime.Memory, stack []uint64) { call(ctx); stack[0] = 1 }}
	}
	all := append(wasi.HostFuncs(), native.HostFuncs()...)
	return append(all, h("f", func(context.Context) {}),
		h("cancel", func(ctx context.Context) { runtime.GateFrom(ctx).(*attackGate).cancel() }),
		h("wait", func(ctx context.Context) { <-ctx.Done() }))
}

// arena runs the attacks, one after the other, beside a neighbour plugin that must not be affected.
type arena struct {
	*testing.T
	engine                *runtime.Engine
	neighbour             *runtime.Pool
	rows                  []string
	hangs, crashes, leaks int
	last                  int // peak memory of the last attack, in bytes
}

// TestHostile_guestsHarmNothing runs every attack, and checks that the host is unchanged.
func TestHostile_guestsHarmNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("memory and time are other ones under the race detector")
	}
	a := &arena{T: t}
	a.open(runtime.RestoreFastest)
	a.close() // resources that the process opens only once are open from here on
	before := held()
	a.open(runtime.RestoreFastest)
	attacks := hostileFiles()
	for _, more := range [][]attack{hostileCode(), hostileMemory(), hostileTraps(), hostileWASI(), hostileNative(), hostileNumbers(), hostileSecrets(), hostileEncodings(), hostileExceptions(), hostileTails()} {
		attacks = append(attacks, more...)
	}
	for i := range attacks {
		a.attack(&attacks[i])
	}
	a.close()
	a.lookForLeaks(before)
	a.report(len(attacks))
	if len(attacks) < 60 {
		t.Errorf("only %d guests", len(attacks))
	}
}

// report prints the table.
func (a *arena) report(guests int) {
	a.Logf("guest, its time, its memory, the neighbour's slowest call meanwhile, its end\n%s\n%d guests: %d hangs, %d crashes, %d leaks",
		strings.Join(a.rows, "\n"), guests, a.hangs, a.crashes, a.leaks)
}

// No call finds a secret of an earlier one, in every way to reset memories.
func TestHostile_guestsFindNoSecretsOfEarlierCalls(t *testing.T) {
	for _, way := range runtime.Restores() {
		t.Run(string(way), func(t *testing.T) {
			a := &arena{T: t}
			a.open(way)
			defer a.close()
			for _, x := range hostileSecrets() {
				a.attack(&x)
			}
		})
	}
}

// open creates the engine and the neighbour, and calls the neighbour once.
func (a *arena) open(way runtime.Restore) {
	e, err := runtime.NewEngine(context.Background(), &runtime.EngineOptions{Host: attackHost(), Restore: way})
	if err != nil {
		a.Fatal(err)
	}
	a.engine = e
	a.neighbour = runtime.NewPool(compile(a.T, e, guest(w.I32Const(42))), run{}, nil)
	a.greet("the start")
}

func (a *arena) close() {
	if err := errors.Join(a.neighbour.Close(context.Background()), a.engine.Close(context.Background())); err != nil {
		a.Error(err)
	}
}

// greet calls the neighbour, which must not be affected.
func (a *arena) greet(after string) {
	if next, err := a.neighbour.Call(context.Background(), runtime.Request{}, nil); string(next) != "42" {
		a.Errorf("after %s the neighbour got %s, %v", after, next, err)
	}
}

// attack runs one guest to its end, then the neighbour.
func (a *arena) attack(x *attack) {
	if a.last > 4<<20 {
		debug.FreeOSMemory()
	}
	resident := resetPeak()
	begin := time.Now()
	done := make(chan string, 1)
	go func() { done <- a.play(x) }()
	got, slowest := a.meanwhile(x, done)
	took, peak := time.Since(begin), status("VmHWM:")-resident
	a.last = peak
	prefix, open := strings.CutSuffix(x.want, "…")
	if got != x.want && !(open && strings.HasPrefix(got, prefix)) {
		a.Errorf("%s:\n got %s\nwant %s", x.name, got, x.want)
	}
	if strings.HasPrefix(got, string(runtime.KindInternal)) {
		a.crashes++
	}
	if peak > cmp.Or(x.most, mostMemory) {
		a.Errorf("%s: %d MiB", x.name, peak>>20)
	}
	a.rows = append(a.rows, fmt.Sprintf("%-28.28s %6d ms %5d MiB %6d ms  %.110s",
		x.name, took.Milliseconds(), max(peak, 0)>>20, slowest.Milliseconds(), got))
	a.greet(x.name)
}

// meanwhile calls the neighbour until an attack is over. It returns the end of the attack, and the neighbour's slowest
// call.
func (a *arena) meanwhile(x *attack, done <-chan string) (got string, slowest time.Duration) {
	hang := time.After(hangAfter)
	for {
		select {
		case got = <-done:
			return got, slowest
		case <-hang:
			a.hangs++
			a.Fatalf("%s: it runs on", x.name)
		case <-time.After(10 * time.Millisecond):
			begin := time.Now()
			a.greet(x.name)
			slowest = max(slowest, time.Since(begin))
		}
	}
}

// play compiles a guest and makes its calls.
func (a *arena) play(x *attack) string {
	ctx := context.Background()
	m, err := a.engine.Compile(ctx, x.wasm)
	if err != nil {
		return "refused: " + err.Error()
	}
	if x.dialect == nil {
		x.dialect = run{}
	}
	if x.limits.Memory == 0 {
		x.limits.Memory = 16 << 20
	}
	if x.limits.Deadline == 0 {
		x.limits.Deadline = hangAfter // guests that end by themselves end before that, on any machine
		if x.want == late {
			x.limits.Deadline = 120 * time.Millisecond
		}
	}
	x.limits.Concurrency = 1
	p := runtime.NewPool(m, x.dialect, &runtime.PoolOptions{Limits: x.limits, Start: func() (runtime.Gate, func()) {
		g := newAttackGate(func() {})
		return g, g.wasi.Close
	}})
	ends := a.calls(p, max(x.calls, 1))
	if err := errors.Join(p.Close(ctx), m.Close()); err != nil {
		return "close: " + err.Error()
	}
	return ends
}

// calls makes n calls and returns their ends, once if all are equal.
func (a *arena) calls(p *runtime.Pool, n int) string {
	var ends []string
	for range n {
		ctx, cancel := context.WithCancel(context.Background())
		g := newAttackGate(cancel)
		answer, err := p.Call(ctx, runtime.Request{Method: "plugin/describe"}, g)
		cancel()
		g.wasi.Close()
		end := "answer " + string(answer)
		if err != nil {
			end = err.Error()
		}
		if len(ends) == 0 || ends[len(ends)-1] != end {
			ends = append(ends, end)
		}
	}
	return strings.Join(ends, " | ")
}

// holding is the number of system resources of the process.
type holding struct{ goroutines, descriptors, mappings int }

func held() holding {
	fds, _ := os.ReadDir("/proc/self/fd")
	maps, _ := os.ReadFile("/proc/self/maps")
	return holding{goruntime.NumGoroutine(), len(fds), strings.Count(string(maps), "\n")}
}

// lookForLeaks compares with the resources held before; the Go runtime itself may map a little more.
func (a *arena) lookForLeaks(before holding) {
	const more = 40
	var after holding
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		goruntime.GC()
		if after = held(); after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.mappings <= before.mappings+more {
			break
		}
	}
	if after.goroutines > before.goroutines || after.descriptors > before.descriptors || after.mappings > before.mappings+more {
		a.leaks++
		a.Errorf("before %+v, after %+v", before, after)
	}
}

// resetPeak resets the peak memory of the process. It returns the current memory, in bytes; 0 if the system does not
// report it.
func resetPeak() int {
	const reset = "5"
	_ = os.WriteFile("/proc/self/clear_refs", []byte(reset), 0)
	return status("VmRSS:")
}

// status reads one size of this process from the system, in bytes.
func status(field string) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib int
	_, after, _ := strings.Cut(string(text), field)
	_, _ = fmt.Sscan(after, &kib)
	return kib << 10
}
