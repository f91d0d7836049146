package envelope

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

func TestIsModern_agreesWithParse(t *testing.T) {
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
		m := jsonrpc.Message{Params: json.RawMessage(params)}
		got := ""
		call := Parse(&m)
		if IsModern(&m) {
			version, _ := jsonraw.String(call.version)
			got = "modern " + version
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", params, got, want)
		}
		if call.Modern != IsModern(&m) {
			t.Errorf("%s: got modern %v, want %v as of IsModern", params, call.Modern, IsModern(&m))
		}
	}
}

// All readers take the first of duplicate keys.
func TestReadMeta_takesFirstOfDuplicateKeys(t *testing.T) {
	e := ReadMeta(json.RawMessage(`{"progressToken":1,"progressToken":2,"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"b"}`))
	if string(e.Token) != "1" || string(e.version) != `"a"` {
		t.Errorf("got token %s and version %s, want 1 and \"a\"", e.Token, e.version)
	}
}

func TestNegotiate_choosesSupportedVersion(t *testing.T) {
	for requested, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2024-10-07": "2025-11-25", "": "2025-11-25",
	} {
		if got := Negotiate(requested); got != want {
			t.Errorf("%q: got %s, want %s", requested, got, want)
		}
	}
}

// The caller may modify the slice.
func TestVersions_returnsACopy(t *testing.T) {
	first := Versions()
	if !slices.IsSortedFunc(first, func(a, b string) int { return strings.Compare(b, a) }) || len(first) != 5 {
		t.Errorf("got %v, want five versions, newest first", first)
	}
	first[0] = ""
	if Versions()[0] != V20260728 {
		t.Errorf("got first version %q after a change of the slice, want %q", Versions()[0], V20260728)
	}
}

func TestFreshFor_acceptsOnlyShortWholeNumbers(t *testing.T) {
	for ttl, want := range map[string]string{
		"": "0", "0": "0", "5000": "5000", "-1": "0", "1.5": "0", "1e3": "0", `"5"`: "0", "null": "0", "9999999999": "0",
	} {
		if got := freshFor(json.RawMessage(ttl)); string(got) != want {
			t.Errorf("%s: got %s, want %s", ttl, got, want)
		}
	}
}
