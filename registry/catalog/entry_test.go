package catalog

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// long is a plugin with an answer of this size. It counts its commits.
type long struct {
	echo
	size, commits int
}

func (l *long) Run(context.Context, Call, Request) (Run, error) {
	return &longRun{answered(`{"x":"` + strings.Repeat("x", l.size-len(`{"x":""}`)) + `"}`), l}, nil
}

type longRun struct {
	answered
	of *long
}

func (r *longRun) Commit(Verdict) error {
	r.of.commits++
	return nil
}

// A guest cannot be given such an answer, and the callee's writes would be there nevertheless.
func TestTool_callOverTheLimitOfAGuestLeavesNoWrites(t *testing.T) {
	for size, commits := range map[int]int{4 << 20: 1, 4<<20 + 1: 0} {
		l := &long{size: size}
		p := plugin(t, "p", tools("x"))
		p.Server = l
		s, _ := joined(t, p)
		tool, _ := s.Tool("p-x")
		_, err := tool.Call(t.Context(), Call{Params: json.RawMessage(`{}`)})
		if l.commits != commits || (err == nil) != (commits == 1) || err != nil && !strings.Contains(err.Error(), "the answer has 4194305 bytes") {
			t.Errorf("an answer of %d bytes: got %d commits and %v, want %d", size, l.commits, err, commits)
		}
	}
}
