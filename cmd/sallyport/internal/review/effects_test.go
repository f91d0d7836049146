package review

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
)

// The person who approves reads how much of a difference is not on the page.
func TestPrintEffects_tellsWhatItDoesNotShow(t *testing.T) {
	d := recording.Difference{Kind: recording.Arguments, What: "POST https://a.example/", Calls: 1, Before: "1", After: "2"}
	for want, sizes := range map[string][2]int{"an excerpt: of 1 byte before, and of 5020 bytes now": {1, 5020}, "": {1, 1}} {
		d.Sizes, d.Others = sizes, 3
		var out strings.Builder
		PrintEffects(&out, &recording.Report{Recorded: 1, Tried: 1, Differences: []recording.Difference{d}}, false)
		if got := out.String(); !strings.Contains(got, "and 3 other differences there, which are not shown") || !strings.Contains(got, want) || want == "" && strings.Contains(got, "an excerpt") {
			t.Errorf("got %s, want the other differences, and %q", got, want)
		}
	}
}
