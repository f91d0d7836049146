package notify

import (
	"encoding/json"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

func TestParseLevel_ordersAllLevels(t *testing.T) {
	last := Unset
	for _, name := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		l := parseLevel(jsonraw.AppendString(nil, name))
		if l <= last {
			t.Errorf("%s is not above the one before", name)
		}
		last = l
	}
	for _, bad := range []string{``, `""`, `"Info"`, `info`, `1`, `null`} {
		if parseLevel(json.RawMessage(bad)) != Unset {
			t.Errorf("%s is a level", bad)
		}
	}
}
