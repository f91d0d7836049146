package protocol

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sallyport-mcp/sallyport/protocol/ask"
)

// A call asks so and so often and no more, however patient its client is.
func TestRounds_bounded(t *testing.T) {
	const question = `[{"Method":"roots/list","Key":"r"}]`
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t-any",%s"_meta":{$CAPS%s}}}` + "\n"
	script := "@grant roots\n"
	script += fmt.Sprintf(call, 0, "", `,"ask":[`+question+strings.Repeat(","+question, ask.MaxRounds)+`]`)
	for n := 1; n <= ask.MaxRounds; n++ {
		script += fmt.Sprintf(call, n, fmt.Sprintf(`"inputResponses":{"r":{"roots":[]}},"requestState":"$STATE%d",`, n), "")
	}
	var out string
	synctest.Test(t, func(t *testing.T) { out = string(play(t, []byte(script))) })
	if n := strings.Count(out, `"input_required"`); n != ask.MaxRounds || !strings.Contains(out, "the call asks more than 32 times") {
		t.Errorf("%d rounds:\n%s", n, out)
	}
}
