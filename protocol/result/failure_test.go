package result

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestGuestCode_avoidsReservedCodes(t *testing.T) {
	for code, want := range map[int]int{
		0: 0, 7: 7, -31999: -31999, -32769: -32769, -32602: -32602, -32603: -32603,
		-32700: -32603, -32600: -32603, -32601: -32603,
		-32000: -32603, -32002: -32603, -32020: -32603, -32021: -32603, -32042: -32603, -32099: -32603, -32768: -32603,
	} {
		if got := GuestCode(code); got != want {
			t.Errorf("%d: got %d, want %d", code, got, want)
		}
	}
}

func TestHints_blockHasThreeLines(t *testing.T) {
	var h Hints
	for _, m := range []string{"one\nline", "two\nlines", "two\nlines", "three\n\n\nlines"} {
		h.Denied(&runtime.AskError{Message: m, Hint: "net: a\nb\nc"})
	}
	var block struct{ Text string }
	if err := json.Unmarshal(h.Block(""), &block); err != nil {
		t.Fatal(err)
	}
	want := []string{"refused: one", "to allow it: net: a", "and 2 more refused in this call: sallyport learn PLUGIN lists the lines that it needs"}
	if got := strings.Split(block.Text, "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(h.Block("fetch: one\nline")); strings.Contains(got, "refused: one") || !strings.Contains(got, "to allow it: net: a") {
		t.Errorf("got %s, want each sentence once, and the line", got)
	}
}

// A plugin that handled a denial and failed for a later one is told of the later one.
func TestHints_areOfTheDenialThatTheFailureQuotes(t *testing.T) {
	var h Hints
	for _, m := range []string{"may not read its settings", "may not ask for a page", "may not ask for another page"} {
		h.Denied(&runtime.AskError{Message: m, Hint: "to grant " + m, RetryAfterMs: int64(len(m))})
	}
	for said, want := range map[string]string{
		"":                                  "may not read its settings",
		"it did not work":                   "may not read its settings",
		"fetch: may not ask for a page (x)": "may not ask for a page",
		"may not ask for a page, and then: may not ask for another page": "may not ask for another page",
	} {
		if got := string(h.Block(said)); !strings.Contains(got, "to allow it: to grant "+want+`\n`) || !strings.Contains(got, "and 2 more refused") {
			t.Errorf("%q: got %s, want the hint of %q and 2 more", said, got, want)
		}
		if got := h.Behind(said); got != said+"; to allow it: to grant "+want {
			t.Errorf("%q: got %q behind it, want the hint of %q", said, got, want)
		}
		if f := h.Own(said); f.Kind != runtime.KindDenied || f.RetryAfterMs != int64(len(want)) {
			t.Errorf("%q: got %+v, want the delay of %q", said, f, want)
		}
	}
}

// The hint for a form says how to answer it, not how to allow it.
func TestHints_explainHowToAnswerAForm(t *testing.T) {
	var h Hints
	h.Denied(&runtime.AskError{Message: "one", Hint: "sallyport answer X"})
	if got, want := h.Behind("no"), "no; to answer it, with its fields as FIELD=VALUE behind: sallyport answer X"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := string(h.Block("")); strings.Contains(got, "to allow it") || !strings.Contains(got, "FIELD=VALUE behind: sallyport answer X") {
		t.Errorf("got %s, want how to answer the form", got)
	}
}

// After a timeout the guest's stack is only its current position, logged at debug level. After a trap it is the
// point of failure.
func TestLog_levelOfAStackDependsOnTheFailure(t *testing.T) {
	for _, test := range []struct {
		kind  runtime.Kind
		level slog.Level
		want  bool
	}{
		{runtime.KindDeadline, slog.LevelInfo, false},
		{runtime.KindCancelled, slog.LevelInfo, false},
		{runtime.KindDeadline, slog.LevelDebug, true},
		{runtime.KindTrap, slog.LevelInfo, true},
	} {
		var b strings.Builder
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: test.level}))
		FailureOf(&runtime.EndError{Kind: test.kind, Message: "over", Stack: ".$724(i32) i32"}).Log(log)
		if strings.Contains(b.String(), "$724") != test.want || !strings.Contains(b.String(), "call failed") {
			t.Errorf("%s at %s: got %s, want a stack: %v", test.kind, test.level, b.String(), test.want)
		}
	}
}
