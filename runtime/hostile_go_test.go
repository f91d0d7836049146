package runtime_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// hostileGo returns the exports of testdata/hostile/goguest; none without a Go toolchain.
func hostileGo(t *testing.T) []attack {
	wasm := goGuest(t)
	limits := runtime.Limits{Memory: 32 << 20, Start: hangAfter}
	short := limits
	short.Deadline = 500 * time.Millisecond             // includes the start
	const dies = "trap: the guest trapped: unreachable" // the end of a Go library
	all := []attack{
		{name: "spin", want: late, limits: short},
		{name: "spin_beside", want: late, limits: short},
		{name: "allocate", want: dies + ", after it was refused more than 32 MiB of memory (limits.memory)", limits: limits},
		{name: "recurse", want: exhausted, limits: limits},
		{name: "deadlock", want: dies, limits: limits},
		{name: "panics", want: dies, limits: limits},
		{name: "trap", want: dies, limits: limits},
		{name: "exit", want: "exit: the guest exited with code 3", limits: limits},
		{name: "sleep", want: late, limits: short},
		{name: "keep", want: "answer 0", calls: 5, limits: limits},
	}
	for i := range all {
		export := all[i].name
		all[i].name, all[i].wasm = "Go: "+export, wasm
		all[i].dialect = serve(func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			n, err := in.Call(ctx, export)
			return json.RawMessage(strconv.Itoa(int(int32(n)))), err
		})
	}
	return all
}

// goGuest builds the Go guest.
func goGuest(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/hostile/goguest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// TestHostile_goGuestHarmsNothing runs the attacks of the Go guest.
func TestHostile_goGuestHarmsNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("memory and time are other ones under the race detector")
	}
	a := &arena{T: t}
	attacks := hostileGo(t)
	a.open(runtime.RestoreFastest)
	defer a.close()
	m, err := a.engine.Compile(context.Background(), attacks[0].wasm) // shared by all attacks
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range attacks {
		a.attack(&attacks[i])
	}
	a.report(len(attacks))
}
