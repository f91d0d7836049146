package notify

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// listener returns a stream that appends its messages to got.
func listener(got *[]string) *Stream {
	return &Stream{Token: []byte(`"p"`), Send: func(msg []byte) { *got = append(*got, string(msg)) }}
}

func progress(r *Stream, n int) {
	r.Progress(fmt.Appendf(nil, `{"progress":%d}`, n))
}

// Unlimited progress reports do not block, and the last value arrives.
func TestProgress_keepsTheLastValueOverTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		r := listener(&got)
		for i := range 10_000 {
			progress(r, i)
		}
		if len(got) != notifyBurst {
			t.Errorf("got %d at once, want %d", len(got), notifyBurst)
		}
		time.Sleep(time.Second)
		for i := range 10_000 {
			progress(r, 10_000+i)
		}
		if n := len(got) - notifyBurst; n != notifyPerSecond {
			t.Errorf("got %d a second later, want %d", n, notifyPerSecond)
		}
		r.Finish()
		if last := got[len(got)-1]; !strings.Contains(last, `"progress":19999,`) {
			t.Errorf("got %s as the last, want the last value", last)
		}
	})
}

func TestMessage_isDroppedOverTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		r := listener(&got)
		for range 10_000 {
			r.Message([]byte(`{"level":"info","data":1}`), DefaultLevel)
		}
		if len(got) != notifyBurst {
			t.Errorf("got %d at once, want %d", len(got), notifyBurst)
		}
	})
}

// Nothing is sent after the result or after a cancellation.
func TestStream_sendsNothingAfterItsEnd(t *testing.T) {
	var got []string
	r := listener(&got)
	r.Finish()
	progress(r, 1)
	r.Message([]byte(`{"level":"info","data":1}`), DefaultLevel)
	r = listener(&got)
	r.Stop()
	progress(r, 1)
	r.Message([]byte(`{"level":"info","data":1}`), DefaultLevel)
	r.Finish()
	if len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
}

// Plugin messages may have any content.
func TestStream_acceptsAnyPluginMessage(t *testing.T) {
	var got []string
	r := listener(&got)
	for _, params := range []string{
		``, `null`, `[]`, `{`, `{}`, `{"progress":null}`, `{"progress":"1"}`, `{"progress":1e999}`, `{"progress":1,"progress":2}`,
		`{"progress":1,"message":"` + strings.Repeat("x", maxNotification) + `"}`,
	} {
		r.Progress([]byte(params))
	}
	for _, params := range []string{
		``, `null`, `[]`, `{`, `{}`, `{"level":"info"}`, `{"level":7,"data":1}`, `{"level":"loud","data":1}`, `{"data":1}`,
		`{"level":"info","data":"` + strings.Repeat("x", maxNotification) + `"}`, "{\"level\":\"info\",\"data\":\"\xff\"}",
	} {
		r.Message([]byte(params), DefaultLevel)
	}
	r.Finish()
	if len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
	r = listener(&got)
	r.Message([]byte("{\n\"level\":\r\n\"info\",\"data\":1}"), DefaultLevel)
	if len(got) != 1 || strings.ContainsAny(got[0], "\r\n") || jsonraw.Valid([]byte(got[0])) != nil {
		t.Errorf("got %q, want one line of JSON", got)
	}
}
