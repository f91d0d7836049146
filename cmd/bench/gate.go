package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// benchGate measures what a check costs: ten lines are granted, of which the last one decides.
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
	call := grant.Call{Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: argument.Values(json.RawMessage(`{"owner":"me"}`))}
	refused, stop, err := refusedFetch(plain)
	if err != nil {
		return nil, err
	}
	defer stop()
	rows := []struct {
		name string
		run  func() bool // false is a wrong answer
	}{
		{"gate: an address that is allowed", func() bool { return plain.Net("GET", u).Allowed }},
		{"gate: one that is not, with the line that would", func() bool { return !plain.Net("GET", &other).Allowed }},
		{"gate: bound to the call's arguments, and allowed", func() bool { return bound.Bind(call).Net("GET", u).Allowed }},
		{"gate: a refused fetch, from call to answer", refused},
	}
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		cost, err := gateCost(o.slice, r.run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		out = append(out, row{Name: r.name, Value: cost, Unit: "µs"})
	}
	return out, nil
}

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

// refusedFetch asks a gate for what it does not allow.
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

// noBodies are streams of a guest that is given none.
type noBodies struct{}

var _ runtime.Streams = noBodies{}

func (noBodies) Open(r io.ReadCloser) (uint32, error) { return 0, r.Close() }

func (noBodies) Take(uint32) (io.ReadCloser, int64, error) { return nil, 0, io.EOF }

// gateCost runs f for a while and returns microseconds a run.
func gateCost(d time.Duration, f func() bool) (float64, error) {
	n := 0
	begun := time.Now()
	for time.Since(begun) < d {
		for range 100 {
			if !f() {
				return 0, fmt.Errorf("the answer is wrong")
			}
		}
		n += 100
	}
	return float64(time.Since(begun).Nanoseconds()) / 1000 / float64(n), nil
}
