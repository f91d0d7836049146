package protocol

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// recorded is a run that records how it ends.
type recorded struct {
	catalog.Server
	answer string
	broken bool // the commit panics
	ends   []string
}

func (r *recorded) Run(context.Context, catalog.Call, catalog.Request) (catalog.Run, error) {
	return r, nil
}

func (r *recorded) Answer() json.RawMessage { return json.RawMessage(r.answer) }

func (r *recorded) Commit(v catalog.Verdict) error {
	if r.broken {
		panic("bug")
	}
	r.ends = append(r.ends, "commit")
	if v.Failed {
		r.ends = append(r.ends, "failed")
	}
	return nil
}

func (r *recorded) Abort(reason error) error {
	if len(r.ends) == 0 {
		r.ends = append(r.ends, "abort")
	}
	return reason
}

func TestRunTool_endsTheRunOnce(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		answer string
		broken bool
		want   []string
		fails  bool
	}{
		{`{"content":[],"structuredContent":{"a":1}}`, false, []string{"commit"}, false},
		{`{"content":[],"isError":true}`, false, []string{"commit", "failed"}, false},
		{`{"content":[],"structuredContent":{}}`, false, []string{"abort"}, true},
		{`{}`, false, []string{"abort"}, true},
		{`null`, false, []string{"abort"}, true},
		{`{"content":[],"structuredContent":{"a":1}}`, true, []string{"abort"}, true},
	} {
		server := &recorded{answer: tt.answer, broken: tt.broken}
		offer := catalog.Publish(catalog.Plugin{Name: "p", Manifest: m, Server: server})
		tool, _ := catalog.Join([]*catalog.Offer{offer}, nil).Tool("x")
		err := func() (err error) {
			defer catch(&err)
			_, err = runTool(t.Context(), tool, catalog.Call{})
			return err
		}()
		if (err != nil) != tt.fails {
			t.Errorf("%s: got error %v, want one: %v", tt.answer, err, tt.fails)
		}
		if !slices.Equal(server.ends, tt.want) {
			t.Errorf("%s: the run ended by %q, want %q", tt.answer, server.ends, tt.want)
		}
	}
}
