package idempotency

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// lossy returns a keeper whose changes fail at a step while a function of it returns an error.
func lossy(t *testing.T, step string, fails func() error) *Keeper {
	t.Helper()
	o := storetest.Options(t, t.TempDir())
	o.Reached = func(at string) error {
		if at == step {
			return fails()
		}
		return nil
	}
	return &Keeper{Store: storetest.Open(t, o), Owner: "here", Over: func(context.Context, string, string) (bool, bool) { return false, false }}
}

// The outcome of a call is stored when the database is back, with intents or without, and its key then answers.
func TestKeeper_storesTheOutcomeWhenTheDatabaseIsBack(t *testing.T) {
	for _, failed := range []bool{false, true} {
		var away atomic.Bool
		var tries atomic.Int32
		k := lossy(t, "begin", func() error {
			if !away.Load() {
				return nil
			}
			tries.Add(1)
			return store.ErrUnavailable
		})
		var work sync.WaitGroup
		c := call("ada", `{}`, "")
		c.Later = func(f func(context.Context)) { work.Go(func() { f(t.Context()) }) }
		_, err := k.Do(t.Context(), c, func() (jsonraw.Object, error) {
			away.Store(true)
			if failed {
				return nil, errors.New("no")
			}
			return jsonraw.Object{{Key: "said", Value: jsonraw.AppendString(nil, "one")}}, nil
		})
		if (err != nil) != failed || tries.Load() == 0 {
			t.Fatalf("failed %t: got %v after %d tries to store it", failed, err, tries.Load())
		}
		if got := said(t, k, c, "two"); !strings.Contains(got, "cannot be kept") && !strings.Contains(got, "has just failed") {
			t.Errorf("meanwhile: got %s, want a refusal", got)
		}
		away.Store(false)
		work.Wait()
		want := `{"said":"one","_meta":{"dev.sallyport/repeated":true}}<nil>`
		if failed {
			want = `{"said":"two"}<nil>`
		}
		if got := said(t, k, call("ada", `{}`, ""), "two"); got != want {
			t.Errorf("failed %t: got %s, want %s", failed, got, want)
		}
	}
}

// A task whose key has no room, or no database, is refused for that reason, and at once.
func TestReserve_refusesWhatCannotBeKept(t *testing.T) {
	for want, fault := range map[runtime.Kind]error{runtime.KindLimit: store.ErrFull, runtime.KindUnavailable: store.ErrUnavailable} {
		tries := 0
		k := lossy(t, "begin", func() error { tries++; return fault })
		_, _, err := k.Reserve(t.Context(), call("ada", `{}`, "task"), func(string) bool { return false })
		var end *runtime.EndError
		if !errors.As(err, &end) || end.Kind != want || !errors.Is(err, fault) || !strings.Contains(end.Message, "cannot be kept") || tries != 1 {
			t.Errorf("got %v after %d tries, want %v after one", err, tries, fault)
		}
	}
}

// A key that cannot be read is no key of a call that failed.
func TestKeeper_saysThatAKeyCannotBeRead(t *testing.T) {
	away := false
	k := lossy(t, "read", func() error {
		if away {
			return store.ErrUnavailable
		}
		return nil
	})
	said(t, k, call("ada", `{}`, ""), "one")
	away = true
	if got := said(t, k, call("ada", `{}`, ""), "two"); !strings.Contains(got, "the idempotency key cannot be read") {
		t.Errorf("got %s, want that the key cannot be read", got)
	}
}

// A write whose outcome was not known does not cost the call its key.
func TestClaim_goesOnAfterAnUnknownWrite(t *testing.T) {
	var lose atomic.Bool
	k := lossy(t, "committed", func() error {
		if lose.Swap(false) {
			return errors.Join(store.ErrUnavailable, store.ErrUnknown)
		}
		return nil
	})
	c := call("ada", `{}`, "")
	var claim *Claim
	c.Begun = func(of *Claim) {
		if of != nil {
			claim = of
		}
	}
	_, err := k.Do(t.Context(), c, func() (jsonraw.Object, error) {
		lose.Store(true)
		if err := claim.Intends("one"); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("got %v, want %v", err, store.ErrUnknown)
		}
		return jsonraw.Object{{Key: "said", Value: []byte(`"one"`)}}, claim.Intends("two")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, k, call("ada", `{}`, ""), "two"); !strings.Contains(got, `"said":"one"`) {
		t.Errorf("got %s, want the first answer", got)
	}
}

// A process that was paused until others took it for gone does not free the key of the call that has it by then.
func TestClaim_freesNoKeyThatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	open := func() *store.Store { return storetest.Open(t, storetest.Options(t, dir)) }
	paused := store.New(storetest.Options(t, dir))
	first, second := &Keeper{Store: paused, Owner: "first"}, &Keeper{Store: open(), Owner: "second"}
	for _, end := range []func(*Claim, *Call){
		func(claim *Claim, c *Call) { claim.end(t.Context(), c, nil, errors.New("no")) },
		func(claim *Claim, c *Call) { claim.free(c) },
	} {
		c := call("ada", `{}`, "")
		c.ID = "1"
		claim, _, err := first.claim(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		if err := paused.Close(); err != nil { // to others it looks like the end of the process
			t.Fatal(err)
		}
		c.ID = "2"
		if got := said(t, second, c, "one"); got != `{"said":"one"}<nil>` {
			t.Fatalf("got %s, want that the second process runs the call", got)
		}
		claim.store = open()
		end(claim, &c)
		if got, want := said(t, second, c, "two"), `{"said":"one","_meta":{"dev.sallyport/repeated":true}}<nil>`; got != want {
			t.Errorf("got %s, want the answer of the second process %s", got, want)
		}
		paused = store.New(storetest.Options(t, dir))
		first.Store = paused
		if err := second.Store.Remove(t.Context(), store.Reply, c.id()); err != nil {
			t.Fatal(err)
		}
	}
	_ = paused.Close()
}
