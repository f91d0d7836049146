package listing

import (
	"encoding/json"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// changing is a catalog whose snapshot is replaced after each read.
type changing struct{ snapshots []*catalog.Snapshot }

func (c *changing) Snapshot() *catalog.Snapshot {
	s := c.snapshots[0]
	if len(c.snapshots) > 1 {
		c.snapshots = c.snapshots[1:]
	}
	return s
}

// A catalog that gets its first rules between two reads must not serve its new entries unfiltered.
func TestViews_filterTheSnapshotThatTheyShow(t *testing.T) {
	open, ruled := &catalog.Snapshot{Generation: 1}, &catalog.Snapshot{Generation: 2}
	v := Views{Options: Options{PageSize: 1, Discover: func(bool, bool) json.RawMessage { return json.RawMessage("{}") }}}
	if got := v.For(&changing{[]*catalog.Snapshot{open, ruled}}, identity.Identity{}).Snapshot; got != open {
		t.Errorf("got generation %d, which was not filtered, want %d", got.Generation, open.Generation)
	}
	if got := v.For(&changing{[]*catalog.Snapshot{ruled}}, identity.Identity{}).Snapshot; got != ruled {
		t.Errorf("got generation %d, want %d", got.Generation, ruled.Generation)
	}
}
