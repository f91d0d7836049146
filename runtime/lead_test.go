package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// led is a dialect whose calls of a method begin behind a LeadIn request of this name. run adds 1 to a byte of memory and
// returns it.
type led struct {
	run
	fails map[string]bool
	leads map[string]int // made so far
}

func (led) Lead(r runtime.Request) string      { return r.Method }
func (led) LeadIn(lead string) runtime.Request { return runtime.Request{Method: "lead " + lead} }
func (d led) Serve(ctx context.Context, in *runtime.Instance, r runtime.Request) (json.RawMessage, error) {
	name, leads := strings.CutPrefix(r.Method, "lead ")
	if leads {
		if d.leads[name]++; name == "30" && d.leads[name] == 1 {
			in.Memory().Write(8, []byte{99}) // of an instance that is dropped
			return nil, runtime.ErrAgain
		}
		n, _ := strconv.Atoi(name)
		in.Memory().Write(8, []byte{byte(n)})
	}
	if d.fails[name] {
		return nil, errors.New("it fails")
	}
	return d.run.Serve(ctx, in, r)
}

func TestLeader_callsBeginInTheImageOfTheirLead(t *testing.T) {
	d := led{fails: map[string]bool{"50": true}, leads: map[string]int{}}
	adds := guest(w.I32Const(8), w.I32Const(8), w.I32Load(0), w.I32Const(1), []byte{0x6a}, w.I32Store(0), w.I32Const(8), w.I32Load(0))
	var cold []string
	p := runtime.NewPool(compile(t, hostF(t, one), adds), d, &runtime.PoolOptions{Cold: func(err error) { cold = append(cold, err.Error()) }})
	for range 2 {
		for method, want := range map[string]string{"": "1", "10": "12", "20": "22", "30": "32"} {
			if got := answerOf(t, p, runtime.Request{Method: method}); got != want {
				t.Errorf("call %q: got %s, want %s", method, got, want)
			}
		}
		d.fails["50"] = true
		if _, err := p.Call(t.Context(), runtime.Request{Method: "50"}, nil); err == nil {
			t.Error("call of a failing method: got no error, want one")
		}
		d.fails["50"] = false // the lead is not tried again
		if got := answerOf(t, p, runtime.Request{Method: "50"}); got != "1" {
			t.Errorf("call whose lead failed: got %s, want 1, as in the started module", got)
		}
	}
	if d.leads["10"] != 1 || d.leads["30"] != 2 || d.leads["50"] != 1 || len(cold) != 1 || !strings.HasPrefix(cold[0], "50: ") {
		t.Errorf("got leads %v, reported %q, want each lead once but 30, and the failed one reported", d.leads, cold)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close: got %v, want no error", err)
	}
}
