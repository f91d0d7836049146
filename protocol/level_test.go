package protocol

import (
	"encoding/json"
	"testing"
)

func TestParseLevel(t *testing.T) {
	last := levelUnset
	for _, name := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		l := parseLevel(textOf(name))
		if l <= last {
			t.Errorf("%s is not above the one before", name)
		}
		last = l
	}
	for _, bad := range []string{``, `""`, `"Info"`, `info`, `1`, `null`} {
		if parseLevel(json.RawMessage(bad)) != levelUnset {
			t.Errorf("%s is a level", bad)
		}
	}
}
