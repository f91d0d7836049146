package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// benchGate measures the cost of a check: ten lines are granted, and the last one decides.
func benchGate(_ context.Context, o options) ([]row, error) {
	lines := make([]string, 0, 10)
	for i := range 9 {
		lines = append(lines, fmt.Sprintf("net: GET https://api%d.example.com/v1/**", i))
	}
	plain, err := gateSet(append(lines, "net: GET https://api.example.com/repos/**")...)
	if err != nil {
		return nil, err
	}
	bound, err := gateSet(append(lines, "net: GET https://api.example.com/repos/{args.owner}/**")...)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse("https://api.example.com/repos/me/x")
	if err != nil {
		return nil, err
	}
	other := *u
	other.Path, other.RawPath = "/users/me", ""
	call := grant.Call{Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(`{"owner":"me"}`))}
	refused, stop, err := refusedFetch(plain)
	if err != nil {
		return nil, err
	}
	defer stop()
	out, err := costs(o, []timedRun{
		{"gate_allow_us", "of ten lines the last decides", func() bool { return plain.Net("GET", u).Allowed }},
		{"gate_deny_us", "with the line that would allow it", func() bool { return !plain.Net("GET", &other).Allowed }},
		{"gate_argument_bound_us", "bound to the arguments of the call, and allowed", func() bool { return bound.Bind(call).Net("GET", u).Allowed }},
		{"gate_refused_fetch_us", "from the guest's request to its answer", refused},
	})
	if err != nil {
		return nil, err
	}
	more, err := benchReceipts(o)
	return append(out, more...), err
}

// benchReceipts measures the cost of a gate per call: without records, and with a receipt and an audit line.
func benchReceipts(o options) ([]row, error) {
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log := audit.New(dir, audit.Options{})
	defer func() { _ = log.Close() }()
	var costs [2]float64
	for i, kept := range []*audit.Log{nil, log} {
		h := hostfuncs.NewHost(&hostfuncs.Options{Audit: kept, State: dir})
		p := h.Plugin(hostfuncs.Plugin{Name: "bench", Digest: "sha256:1"})
		costs[i], err = gateCost(o.slice, func() bool {
			r := &receiver{}
			p.NewGate(hostfuncs.Call{ID: "abcdefgh", Principal: "stdio:1000", Method: "tools/call", Tool: "echo", Client: r}).Close()
			return kept == nil || len(r.got.JSON()) > 0
		})
		h.Close()
		if err != nil {
			return nil, err
		}
	}
	return []row{
		{Name: "gate_open_and_close_us", Value: costs[0], Unit: "µs", note: "a call without effects"},
		{Name: "receipt_and_audit_us", Value: costs[1] - costs[0], Unit: "µs", note: "what the receipt and the audit line add"},
	}, nil
}

// receiver is a client that accepts receipts.
type receiver struct {
	hostfuncs.Client
	got receipt.Receipt
}

// Receipt stores the receipt of the call.
func (r *receiver) Receipt(got receipt.Receipt) { r.got = got }

func gateSet(lines ...string) (*grant.Set, error) {
	set := grant.NewSet()
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			return nil, err
		}
		set = set.With(g)
	}
	return set, nil
}

// refusedFetch returns a function that makes a denied request.
func refusedFetch(set *grant.Set) (run func() bool, stop func(), err error) {
	h := hostfuncs.NewHost(nil)
	g := h.Plugin(hostfuncs.Plugin{Name: "bench", Grants: set}).NewGate(hostfuncs.Call{ID: "bench"})
	params := json.RawMessage(`{"url":"https://api.example.com/users/me"}`)
	run = func() bool {
		_, err := g.Ask(context.Background(), "http/fetch", params, noBodies{})
		return err != nil
	}
	return run, func() { g.Close(); h.Close() }, nil
}

// noBodies implements runtime.Streams for a guest without streams.
type noBodies struct{}

var _ runtime.Streams = noBodies{}

func (noBodies) Open(r io.ReadCloser) (uint32, error) { return 0, r.Close() }

func (noBodies) Take(uint32) (io.ReadCloser, int64, error) { return nil, 0, io.EOF }

// timedRun is a function whose time is a row; false is a wrong answer.
type timedRun struct {
	name, note string
	run        func() bool
}

// costs returns a row for each function.
func costs(o options, runs []timedRun) ([]row, error) {
	out := make([]row, 0, len(runs))
	for _, r := range runs {
		cost, err := gateCost(o.slice, r.run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		out = append(out, row{Name: r.name, Value: cost, Unit: "µs", note: r.note})
	}
	return out, nil
}

// gateCost runs f in batches for d and returns the microseconds per run in the fastest batch.
func gateCost(d time.Duration, f func() bool) (float64, error) {
	const batch = 1000
	quickest := time.Duration(math.MaxInt64)
	for begun := time.Now(); time.Since(begun) < d; {
		start := time.Now()
		for range batch {
			if !f() {
				return 0, errors.New("the answer is wrong")
			}
		}
		quickest = min(quickest, time.Since(start))
	}
	return float64(quickest.Nanoseconds()) / 1000 / batch, nil
}
