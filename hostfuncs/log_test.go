package hostfuncs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// logTo returns a logger without times.
func logTo(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// logged opens a gate and returns its log and client.
func logged(t *testing.T) (*hostfuncs.Gate, *bytes.Buffer, *listener) {
	var b bytes.Buffer
	h := hostfuncs.NewHost(&hostfuncs.Options{Logger: logTo(&b)})
	t.Cleanup(h.Close)
	l := &listener{}
	g := h.Plugin(hostfuncs.Plugin{Name: "demo"}).NewGate(hostfuncs.Call{ID: "c1", Client: l})
	t.Cleanup(g.Close)
	return g, &b, l
}

func TestLog_reachesHostAndClient(t *testing.T) {
	g, b, l := logged(t)
	params := []string{
		`{"level":"debug","data":"hello\nworld \u001b[31m","logger":"net\u0007"}`,
		`{"data":{"a":1},"level":"warning","extra":[1]}`,
		`{"level":"emergency","data":null}`,
	}
	for _, p := range params {
		if res, err := g.Ask(t.Context(), "notifications/message", json.RawMessage(p), nil); err != nil || string(res) != "{}" {
			t.Errorf("%s: got %s, %v, want {}", p, res, err)
		}
	}
	want := `level=DEBUG msg="hello\\nworld \\x1b[31m" plugin=demo call=c1 logger=net\a
level=WARN msg="{\"a\":1}" plugin=demo call=c1
level=ERROR msg=null plugin=demo call=c1
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b, want)
	}
	heard := []string{ // each names this plugin
		`{"level":"debug","data":"hello\nworld \u001b[31m","logger":"demo/net\\a"}`,
		`{"data":{"a":1},"level":"warning","extra":[1],"logger":"demo"}`,
		`{"level":"emergency","data":null,"logger":"demo"}`,
	}
	if !slices.Equal(l.messages, heard) {
		t.Errorf("got messages %s, want %s", l.messages, heard)
	}
}

func TestLog_rejectsInvalidMessages(t *testing.T) {
	g := newGate(t, nil)
	const levels = "debug, info, notice, warning, error, critical, alert, emergency"
	for params, want := range map[string]string{
		`{"data":1}`:                `level "" is not one of ` + levels,
		`{"level":"loud","data":1}`: `level "loud" is not one of ` + levels,
		`{"level":3,"data":1}`:      `level "" is not one of ` + levels,
		`{"level":"info"}`:          `a message needs data`,
	} {
		_, err := g.Ask(t.Context(), "notifications/message", json.RawMessage(params), nil)
		wantAsk(t, err, runtime.KindInvalid, want, "")
	}
	_, err := g.Ask(t.Context(), "notifications/message", nil, nil)
	wantAsk(t, err, runtime.KindInvalid, `level "" is not one of `+levels, "")
	huge := fmt.Sprintf(`{"level":"info","data":%q}`, strings.Repeat("x", 64<<10))
	_, err = g.Ask(t.Context(), "notifications/message", json.RawMessage(huge), nil)
	wantAsk(t, err, runtime.KindLimit, "a message is longer than 65536 bytes", "")
}

func TestLog_isBounded(t *testing.T) {
	g, b, l := logged(t)
	line := json.RawMessage(fmt.Sprintf(`{"level":"info","data":%q}`, strings.Repeat("x", 60<<10)))
	for range 40 {
		if _, err := g.Ask(t.Context(), "notifications/message", line, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.messages); n != 17 {
		t.Errorf("got %d messages, want 17", n)
	}
	if n := strings.Count(b.String(), "the call logs too much, the rest is dropped"); n != 1 {
		t.Errorf("got %d warnings, want 1", n)
	}
}

func TestProgress_forwardsIncreasingValues(t *testing.T) {
	g, _, l := logged(t)
	for _, p := range []string{`{"progress":1,"total":3}`, `{"progress":1}`, `{"progress":0.5}`, `{"progress":2.5,"message":"x"}`, `{"progress":-1}`} {
		if res, err := g.Ask(t.Context(), "notifications/progress", json.RawMessage(p), nil); err != nil || string(res) != "{}" {
			t.Errorf("%s: got %s, %v, want {}", p, res, err)
		}
	}
	if want := []string{`{"progress":1,"total":3}`, `{"progress":2.5,"message":"x"}`}; !slices.Equal(l.progress, want) {
		t.Errorf("got progress %s, want %s", l.progress, want)
	}
	for _, p := range []string{`{}`, `{"progress":"1"}`, `{"progress":null}`, `{"progress":1e999}`} {
		_, err := g.Ask(t.Context(), "notifications/progress", json.RawMessage(p), nil)
		wantAsk(t, err, runtime.KindInvalid, "progress is a number", "")
	}
}
