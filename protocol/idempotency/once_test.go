package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

func keeper(t *testing.T, over ...string) *Keeper {
	t.Helper()
	return &Keeper{Store: storetest.Open(t, storetest.Options(t, t.TempDir())), Owner: "here", Over: func(_ context.Context, _, id string) (bool, bool) {
		return slices.Contains(over, id), id != "unknown"
	}}
}

func call(principal, arguments, task string) Call {
	return Call{
		Principal: principal, Tool: "t", Key: "k", Arguments: json.RawMessage(arguments), Task: task,
		Ends: time.Now().Add(time.Hour), Log: slog.New(slog.DiscardHandler),
	}
}

// said returns the outcome of a call with a key if its run answers with text.
func said(t *testing.T, k *Keeper, c Call, text string) string {
	t.Helper()
	o, err := k.Do(t.Context(), c, func() (jsonraw.Object, error) {
		return jsonraw.Object{{Key: "said", Value: jsonraw.AppendString(nil, text)}}, nil
	})
	return string(o.Append(nil)) + fmt.Sprint(err)
}

// All calls with the same key and arguments get the first answer.
func TestKeeper_repeatsTheFirstAnswer(t *testing.T) {
	k := keeper(t)
	for _, test := range []struct{ principal, arguments, text, want string }{
		{"ada", `{"a":1}`, "one", `{"said":"one"}<nil>`},
		{"ada", `{"a":1}`, "two", `{"said":"one","_meta":{"dev.sallyport/repeated":true}}<nil>`},
		{"ada", `{"a":2}`, "three", `{}the idempotency key was used with other arguments (-32602)`},
		{"eve", `{"a":2}`, "four", `{"said":"four"}<nil>`},
	} {
		if got := said(t, k, call(test.principal, test.arguments, ""), test.text); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
	}
}

// A call that fails without intents frees its key, and only one call per key runs at a time.
func TestKeeper_freesKeysOfFailuresWithoutIntents(t *testing.T) {
	k := keeper(t)
	c := call("ada", `{}`, "")
	for _, failed := range []func() (jsonraw.Object, error){
		func() (jsonraw.Object, error) { return nil, errors.New("no") },
		func() (jsonraw.Object, error) {
			return jsonraw.Object{{Key: "isError", Value: json.RawMessage("true")}}, nil
		},
		func() (jsonraw.Object, error) {
			if got := said(t, k, c, "inner"); !strings.Contains(got, "a call with this idempotency key is running") {
				t.Errorf("beside one that runs: got %s, want its refusal", got)
			}
			return nil, errors.New("no")
		},
	} {
		if o, err := k.Do(t.Context(), c, failed); err == nil && o == nil {
			t.Error("the failure is lost")
		}
	}
	if got := said(t, k, c, "at last"); got != `{"said":"at last"}<nil>` {
		t.Errorf("got %v, want %v", got, `{"said":"at last"}<nil>`)
	}
}

// A key with intents is never freed, however its call ends, and a repetition gets an error with the intents.
func TestKeeper_keepsKeysWithIntents(t *testing.T) {
	dir := t.TempDir()
	until := time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		end  func() (jsonraw.Object, error)
		want string
	}{
		"fails": {func() (jsonraw.Object, error) { return nil, errors.New("no") }, "a call with this idempotency key failed: no; it had begun this"},
		"says no": {func() (jsonraw.Object, error) {
			return jsonraw.Object{{Key: "isError", Value: json.RawMessage("true")}}, nil
		}, `{"isError":true,"_meta":{"dev.sallyport/repeated":true}}<nil>`},
		"asks": {func() (jsonraw.Object, error) { return nil, hostfuncs.ErrSuspended }, `{}a call with this idempotency key waits for answers`},
		"was never answered": {func() (jsonraw.Object, error) {
			until = time.Now().Add(-time.Hour)
			return nil, hostfuncs.ErrSuspended
		}, "waited for answers that never came; it had begun this"},
		"panics": {func() (jsonraw.Object, error) { panic("bug") }, "failed: the host failed; it had begun this"},
	} {
		for _, touched := range []bool{true, false} {
			t.Run(fmt.Sprint(name, touched), func(t *testing.T) {
				until = time.Now().Add(time.Hour)
				k := &Keeper{Store: storetest.Open(t, storetest.Options(t, dir)), Owner: "here"}
				c := call("ada", `{"b":1,"a":2}`, "")
				c.Key, c.ID = fmt.Sprint(name, touched), "c1"
				c.Asked = func() (jsonraw.Object, time.Time, error) {
					return jsonraw.Object{{Key: "ask", Value: json.RawMessage("1")}}, until, nil
				}
				var claim *Claim
				c.Begun = func(began *Claim) { claim = began }
				func() {
					defer func() { _ = recover() }()
					_, _ = k.Do(t.Context(), c, func() (jsonraw.Object, error) {
						if err := claim.Intends("GET x"); err != nil {
							t.Error(err)
						}
						claim.Recants("GET x")
						if !touched {
							return test.end()
						}
						if err := claim.Intends("POST x"); err != nil {
							t.Error(err)
						}
						return test.end()
					})
				}()
				c.Arguments, c.ID = json.RawMessage(`{ "a": 2, "b": 1 }`), "c2"
				got := said(t, k, c, "again")
				if want := test.want; touched && !strings.Contains(got, want) || !touched && name != "asks" && got != `{"said":"again"}<nil>` {
					t.Errorf("got %s\nwant %s", got, want)
				}
				if strings.Contains(got, "begun") && !strings.Contains(got, "POST x; a new call needs a new key") {
					t.Errorf("got %s, want the intents", got)
				}
			})
		}
	}
}

// A killed process frees only the keys of its calls without intents.
func TestKeeper_freesKeysOfKilledProcessesWithoutIntents(t *testing.T) {
	dir := t.TempDir()
	for _, touched := range []bool{true, false} {
		gone := store.New(storetest.Options(t, dir))
		first := &Keeper{Store: gone, Owner: fmt.Sprint("first", touched)}
		c := call("ada", `{}`, "")
		c.Key = fmt.Sprint(touched)
		claim, _, err := first.claim(t.Context(), &c)
		if err == nil && touched {
			err = claim.Intends("POST x")
		}
		second := &Keeper{Store: storetest.Open(t, storetest.Options(t, dir)), Owner: fmt.Sprint("second", touched)}
		if got := said(t, second, c, "beside"); err != nil || !strings.Contains(got, "is running") {
			t.Errorf("got %v, %s, want that the call is running", err, got)
		}
		if err := gone.Close(); err != nil { // to others it looks like the end of the process
			t.Fatal(err)
		}
		got, want := said(t, second, c, "later"), `{"said":"later"}<nil>`
		if touched {
			want = "was interrupted, and its outcome is not known; it had begun this, which is not done again: POST x;"
		}
		if !strings.Contains(got, want) {
			t.Errorf("touched %v: got %s, want %s", touched, got, want)
		}
	}
}

// A task whose opening had no known outcome holds its key until it can no longer be stored.
func TestReserve_freesTheKeyOfATaskThatNeverOpened(t *testing.T) {
	for _, test := range []struct {
		age  time.Duration
		want string
	}{{openTime / 2, "is running"}, {2 * openTime, `{"said":"now"}<nil>`}} {
		o := storetest.Options(t, t.TempDir())
		o.Now = func() time.Time { return time.Now().Add(-test.age) }
		k := &Keeper{Store: storetest.Open(t, o), Owner: "here", Over: func(context.Context, string, string) (over, known bool) { return false, false }}
		c := call("ada", `{}`, "unknown")
		if _, _, err := k.Reserve(t.Context(), c, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if got := said(t, k, call("ada", `{}`, ""), "now"); !strings.Contains(got, test.want) {
			t.Errorf("after %v: got %s, want %s", test.age, got, test.want)
		}
	}
}

// Of concurrent task calls with one key, only one opens a task.
func TestReserve_opensOneTaskPerKey(t *testing.T) {
	k := keeper(t)
	var known sync.Map
	var names [16]string
	var work sync.WaitGroup
	for i := range names {
		work.Go(func() {
			own := fmt.Sprint("task", i)
			id, _, err := k.Reserve(t.Context(), call("ada", `{}`, own), func(id string) bool {
				_, ok := known.Load(id)
				return ok
			})
			if names[i] = id; err != nil {
				t.Error(err)
			}
			if id == own {
				known.Store(id, true)
			}
		})
	}
	work.Wait()
	if all := slices.Compact(names[:]); len(all) != 1 {
		t.Errorf("got tasks %q, want one", all)
	}
}

// A task holds its key until its end, and its later runs share it.
func TestKeeper_holdsTheKeyOfATaskUntilItsEnd(t *testing.T) {
	k := keeper(t, "gone")
	suspend := func() (jsonraw.Object, error) { return nil, hostfuncs.ErrSuspended }
	for _, task := range []string{"gone", "goes-on", "goes-on"} {
		if _, err := k.Do(t.Context(), call("ada", `{}`, task), suspend); !errors.Is(err, hostfuncs.ErrSuspended) {
			t.Fatalf("%s: got %v, want a suspended call", task, err)
		}
	}
	if got := said(t, k, call("ada", `{}`, "other"), ""); !strings.Contains(got, "is running") {
		t.Errorf("another task: got %s, want that the call is running", got)
	}
	reserve := func(arguments string) (string, error) {
		id, _, err := k.Reserve(t.Context(), call("ada", arguments, "new"), func(string) bool { return true })
		return id, err
	}
	if id, err := reserve(`{}`); id != "goes-on" || err != nil {
		t.Errorf("got task %q, %v, want goes-on", id, err)
	}
	if id, err := reserve(`{"a":1}`); id != "" || err == nil {
		t.Errorf("with other arguments: got task %q, %v, want an error", id, err)
	}
	for range 2 { // the second is a run of a task that was killed after its answer
		if got := said(t, k, call("ada", `{}`, "goes-on"), "done"); got != `{"said":"done"}<nil>` {
			t.Errorf("got %v, want %v", got, `{"said":"done"}<nil>`)
		}
	}
}

// Of many concurrent calls only one runs.
func TestKeeper_runsOneOfConcurrentCalls(t *testing.T) {
	k := keeper(t)
	var runs atomic.Int32
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			_, _ = k.Do(t.Context(), call("ada", `{}`, ""), func() (jsonraw.Object, error) {
				runs.Add(1)
				return jsonraw.Object{}, nil
			})
		})
	}
	work.Wait()
	if n := runs.Load(); n != 1 {
		t.Errorf("got %d runs, want 1", n)
	}
}
