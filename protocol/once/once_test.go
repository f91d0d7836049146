package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store/storetest"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

func keeper(t *testing.T, over ...string) *Keeper {
	t.Helper()
	return &Keeper{Store: storetest.Open(t, store.Options{Dir: t.TempDir()}), Over: func(_ context.Context, _, id string) bool {
		return strings.Contains(strings.Join(over, " "), id)
	}}
}

func call(principal, arguments, task string) Call {
	return Call{
		Principal: principal, Tool: "t", Key: "k", Arguments: json.RawMessage(arguments), Task: task,
		Ends: time.Now().Add(time.Hour), Log: slog.New(slog.DiscardHandler),
	}
}

// said is what a call with a key comes to, whose run answers with text.
func said(t *testing.T, k *Keeper, c Call, text string) string {
	t.Helper()
	o, err := k.Do(t.Context(), c, func() (rawjson.Object, error) {
		return rawjson.Object{{Key: "said", Value: rawjson.AppendString(nil, text)}}, nil
	})
	return string(o.Append(nil)) + fmt.Sprint(err)
}

// The first answer is that of all who have the key, and the arguments.
func TestKeeper_Do(t *testing.T) {
	k := keeper(t)
	for _, test := range []struct{ principal, arguments, text, want string }{
		{"ada", `{"a":1}`, "one", `{"said":"one"}<nil>`},
		{"ada", `{"a":1}`, "two", `{"said":"one","_meta":{"dev.sallyport/repeated":true}}<nil>`},
		{"ada", `{"a":2}`, "three", `{}the idempotency key was used with other arguments (-32602)`},
		{"eve", `{"a":2}`, "four", `{"said":"four"}<nil>`},
	} {
		if got := said(t, k, call(test.principal, test.arguments, ""), test.text); got != test.want {
			t.Errorf("%s: %s", test.text, got)
		}
	}
}

// A call that fails frees its key, and while one runs no other does.
func TestKeeper_frees(t *testing.T) {
	k := keeper(t)
	c := call("ada", `{}`, "")
	for _, failed := range []func() (rawjson.Object, error){
		func() (rawjson.Object, error) { return nil, errors.New("no") },
		func() (rawjson.Object, error) {
			return rawjson.Object{{Key: "isError", Value: json.RawMessage("true")}}, nil
		},
		func() (rawjson.Object, error) {
			if got := said(t, k, c, "inner"); !strings.Contains(got, "a call with this idempotency key is running") {
				t.Errorf("beside one that runs: %s", got)
			}
			return nil, errors.New("no")
		},
	} {
		if o, err := k.Do(t.Context(), c, failed); err == nil && o == nil {
			t.Error("the failure is lost")
		}
	}
	if got := said(t, k, c, "at last"); got != `{"said":"at last"}<nil>` {
		t.Error(got)
	}
}

// A task holds its key until it is over, and its later runs have it too.
func TestKeeper_tasks(t *testing.T) {
	k := keeper(t, "gone")
	suspend := func() (rawjson.Object, error) { return nil, hostfuncs.ErrSuspended }
	for _, task := range []string{"gone", "goes-on", "goes-on"} {
		if _, err := k.Do(t.Context(), call("ada", `{}`, task), suspend); !errors.Is(err, hostfuncs.ErrSuspended) {
			t.Fatalf("%s: %v", task, err)
		}
	}
	if got := said(t, k, call("ada", `{}`, "other"), ""); !strings.Contains(got, "is running") {
		t.Errorf("another task: %s", got)
	}
	if id := k.Task(t.Context(), call("ada", `{}`, "")); id != "goes-on" {
		t.Errorf("the task is %q", id)
	}
	if id := k.Task(t.Context(), call("ada", `{"a":1}`, "")); id != "" {
		t.Errorf("with other arguments the task is %q", id)
	}
	for range 2 { // the second is a run of a task that was killed with its answer
		if got := said(t, k, call("ada", `{}`, "goes-on"), "done"); got != `{"said":"done"}<nil>` {
			t.Error(got)
		}
	}
}

// Of many at once one runs.
func TestKeeper_hammer(t *testing.T) {
	k := keeper(t)
	var runs atomic.Int32
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			_, _ = k.Do(t.Context(), call("ada", `{}`, ""), func() (rawjson.Object, error) {
				runs.Add(1)
				return rawjson.Object{}, nil
			})
		})
	}
	work.Wait()
	if n := runs.Load(); n != 1 {
		t.Errorf("%d runs", n)
	}
}
