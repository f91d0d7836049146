package protocol

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestIsModern(t *testing.T) {
	for params, want := range map[string]string{
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`:  "modern 2026-07-28",
		`{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}`: "modern 2026-07-28",
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`:  "modern 2025-11-25",
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}`:          "modern ",
		`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`:         "",
		`{"_meta":[]}`: "",
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`: "",
		`{}`: "",
		`[]`: "",
	} {
		m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"x","params":`+params+`}`)
		got := ""
		if IsModern(&m) {
			got = "modern " + ModernVersion(&m)
		}
		if got != want {
			t.Errorf("%s: %q", params, got)
		}
		if readEnvelope(m.Params).modern != IsModern(&m) {
			t.Errorf("%s: two readers disagree", params)
		}
	}
}

// Of equal keys every reader here takes the first.
func TestEnvelope_Duplicates(t *testing.T) {
	e := readEnvelope(json.RawMessage(`{"_meta":{"progressToken":1,"progressToken":2,"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"b"}}`))
	if string(e.token) != "1" || string(e.version) != `"a"` {
		t.Errorf("%s, %s", e.token, e.version)
	}
}

func TestNegotiate(t *testing.T) {
	for requested, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2024-10-07": "2025-11-25", "": "2025-11-25",
	} {
		if got := negotiate(requested); got != want {
			t.Errorf("%q: %s", requested, got)
		}
	}
}

// A caller may do with the slice what it likes.
func TestSupportedVersions(t *testing.T) {
	first := SupportedVersions()
	if !slices.IsSortedFunc(first, func(a, b string) int { return strings.Compare(b, a) }) || len(first) != 5 {
		t.Errorf("%v", first)
	}
	first[0] = ""
	if SupportedVersions()[0] != version20260728 {
		t.Error("the slice is shared")
	}
}

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
