package continuation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// client is one request that records its messages.
type client struct {
	heard  []string
	rounds inputrequest.Rounds
}

func (c *client) hear(what string)                                  { c.heard = append(c.heard, what) }
func (c *client) Progress(_ context.Context, p json.RawMessage)     { c.hear("progress " + string(p)) }
func (c *client) Message(_ context.Context, params json.RawMessage) { c.hear("message") }
func (c *client) Denied(*runtime.AskError)                          { c.hear("denied") }
func (c *client) RetryAfter(int64)                                  { c.hear("retry") }
func (c *client) Release()                                          { c.hear("release") }
func (c *client) Intends(string) error                              { c.hear("intends"); return nil }
func (c *client) Recants(string)                                    { c.hear("recants") }
func (c *client) Receipt(receipt.Receipt)                           { c.hear("receipt") }

func (c *client) Round(round []runtime.Question) ([]inputrequest.Question, bool, error) {
	return c.rounds.Next(round, inputrequest.Declared([]byte(`{"roots":{}}`)), nil)
}

var question = []runtime.Question{{Method: "roots/list", Key: "r"}}

// asksTwice is a plugin that sends a message and asks, twice, and returns the answers.
func asksTwice(ctx context.Context, c *ParkedCall) (jsonraw.Object, error) {
	var o jsonraw.Object
	for n := range 2 {
		c.Progress(ctx, fmt.Appendf(nil, "%d", n))
		answers, err := c.Ask(ctx, question)
		if err != nil {
			return nil, err
		}
		o.Set(fmt.Sprint(n), answers[0].Result)
	}
	c.Receipt(receipt.Receipt{})
	return o, nil
}

func wait(t *testing.T, c *ParkedCall) []inputrequest.Question {
	t.Helper()
	_, asked, err := c.Wait(t.Context())
	if err != nil || len(asked) != 1 {
		t.Fatalf("got questions %v, %v, want one", asked, err)
	}
	return asked
}

// A call continues with each request that has answers, and sends messages to the newest.
func TestParkedCall_continuesWithEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lot := NewParkedCalls(time.Hour)
		defer lot.Close()
		first, second, third := &client{}, &client{}, &client{}
		c := lot.Begin(t.Context(), first, asksTwice)
		for _, next := range []*client{second, third} {
			asked := wait(t, c)
			if lot.Take("guess") != nil || lot.Take(c.Handle) != c || lot.Take(c.Handle) != nil {
				t.Fatal("the call is not there, or there twice")
			}
			asked[0].Answer = json.RawMessage(`{"n":1}`)
			c.GoOn(next, asked)
		}
		o, asked, err := c.Wait(t.Context())
		if err != nil || asked != nil || string(o.Append(nil)) != `{"0":{"n":1},"1":{"n":1}}` {
			t.Errorf("got %s, questions %v, %v, want both answers", o.Append(nil), asked, err)
		}
		if got := fmt.Sprint(first.heard, second.heard, third.heard); got != "[progress 0] [progress 1] [receipt]" {
			t.Errorf("got %v, want %v", got, "[progress 0] [progress 1] [receipt]")
		}
	})
}

// A call ends if its client does not return, its lot is closed, or its request is cancelled.
func TestParkedCall_endsIfAbandoned(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, l *ParkedCalls, c *ParkedCall){
		"nobody answers": func(*testing.T, *ParkedCalls, *ParkedCall) { time.Sleep(parkTime + time.Second) },
		"the lot closes": func(_ *testing.T, l *ParkedCalls, _ *ParkedCall) { l.Close() },
		"the client goes": func(t *testing.T, _ *ParkedCalls, c *ParkedCall) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _, _ = c.Wait(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lot := NewParkedCalls(time.Hour)
				c := lot.Begin(t.Context(), &client{}, asksTwice)
				wait(t, c)
				synctest.Wait()
				end(t, lot, c)
				if _, _, err := c.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer in time") {
					t.Errorf("got %v, want no answer in time", err)
				}
				if len(lot.calls) != 0 {
					t.Error("it waits although it is over")
				}
			})
		})
	}
}

// The number of suspended calls is limited, and a further one gets an error.
func TestParkedCalls_areLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lot := NewParkedCalls(time.Hour)
		defer lot.Close()
		for range maxParked {
			wait(t, lot.Begin(t.Context(), &client{}, asksTwice))
		}
		c := lot.Begin(t.Context(), &client{}, func(ctx context.Context, c *ParkedCall) (jsonraw.Object, error) {
			answers, err := c.Ask(ctx, question)
			if err != nil {
				return nil, err
			}
			return nil, answers[0].Err
		})
		if _, _, err := c.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "too many calls") {
			t.Errorf("got %v, want too many calls", err)
		}
	})
}
