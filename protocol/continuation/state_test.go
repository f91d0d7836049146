package continuation

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
)

var now = time.Now()

func keeper(keys *sealed.Keys, s *store.Store) *Keeper {
	return NewKeeper(keys, s, func() time.Time { return now })
}

func waiting(journal string) *State {
	return &State{
		ID: "id", Expires: now.Add(time.Minute).Unix(), Purpose: NewPurpose("ada", "proof", "tools/call", []byte(`{"name":"x","arguments":{"a":1.0,"b":2}}`)),
		Call: "c-1", Round: 1, Pending: []inputrequest.Question{{Key: "k", Method: "roots/list"}}, Journal: []byte(journal),
	}
}

// A state survives encoding with any journal.
func TestState_survivesEncoding(t *testing.T) {
	if err := quick.Check(func(journal []byte, call string, round int) bool {
		s := waiting("")
		s.Journal, s.Call, s.Round = append([]byte{}, journal...), strings.ToValidUTF8(call, ""), round
		plain, err := s.encode()
		if err != nil {
			return false
		}
		got, err := decode(plain)
		return err == nil && reflect.DeepEqual(got, s)
	}, nil); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "\xff", "\x05{}", "\x02[]"} {
		if _, err := decode([]byte(bad)); !errors.Is(err, ErrTampered) {
			t.Errorf("%q: got %v, want %v", bad, err, ErrTampered)
		}
	}
}

// A state opens only for its request, in any JSON formatting.
func TestKeeper_opensStatesOnlyForTheirRequest(t *testing.T) {
	keys := sealed.Random()
	k := keeper(keys, nil)
	text, err := k.Seal(waiting("journal"), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		principal, method, params string
		at                        time.Duration
		want                      error
	}{
		{"ada", "tools/call", `{"arguments":{"b":2,"a":1.0},"name":"x"}`, 0, nil},
		{"ada", "tools/call", `{"arguments":{"b":2,"a":1.0},"name":"x","_meta":{"x":1},"requestState":"s","inputResponses":{}}`, 0, nil},
		{"eve", "tools/call", `{"arguments":{"b":2,"a":1.0},"name":"x"}`, 0, errOtherRequest},
		{"ada", "prompts/get", `{"arguments":{"b":2,"a":1.0},"name":"x"}`, 0, errOtherRequest},
		{"ada", "tools/call", `{"arguments":{"b":2,"a":1},"name":"x"}`, 0, errOtherRequest},
		{"ada", "tools/call", `{"arguments":{"b":2,"a":1.0},"name":"x"}`, time.Hour, errExpired},
	} {
		s, err := k.Open(text, NewPurpose(test.principal, "proof", test.method, json.RawMessage(test.params)), now.Add(test.at))
		if !errors.Is(err, test.want) || err == nil && string(s.Journal) != "journal" {
			t.Errorf("%+v: got %v, want %v", test, err, test.want)
		}
	}
	if _, err := k.Open(text, NewPurpose("ada", "another", "tools/call", json.RawMessage(`{"arguments":{"b":2,"a":1.0},"name":"x"}`)), now); !errors.Is(err, errOtherRequest) {
		t.Errorf("another request of that name: got %v, want %v", err, errOtherRequest)
	}
	for _, other := range []*Keeper{keeper(sealed.Random(), nil), k} {
		bad := text
		if other == k {
			bad = text[:len(text)-1] + "!"
		}
		if _, err := other.Open(bad, waiting("").Purpose, now); !errors.Is(err, ErrTampered) {
			t.Errorf("got %v, want %v", err, ErrTampered)
		}
	}
}

// A state is used once. A released one may be used again, and later uses get the stored answer.
func TestKeeper_usesAStateOnce(t *testing.T) {
	kept := storetest.Open(t, store.Options{Dir: t.TempDir()})
	keys := sealed.Random()
	k, elsewhere := keeper(keys, kept), keeper(keys, kept)
	u, err := k.Use(waiting(""), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*Keeper{k, elsewhere} {
		if _, err := other.Use(waiting(""), ""); err == nil || !strings.Contains(err.Error(), ErrUsed.Error()) {
			t.Errorf("used twice: got %v, want %v", err, ErrUsed)
		}
	}
	if err := u.Release(); err != nil {
		t.Fatal(err)
	}
	if u, err = elsewhere.Use(waiting(""), "task"); err != nil {
		t.Fatalf("released: got %v, want another use", err)
	}
	again, err := k.Use(waiting(""), "task")
	if err != nil {
		t.Fatalf("the same task in another process: got %v, want another use", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Use(waiting(""), ""); err == nil || !strings.Contains(err.Error(), ErrUsed.Error()) {
		t.Errorf("after a later run of the task without effects: got %v, want %v", err, ErrUsed)
	}
	u.Settle(&Reply{Tail: []byte("tail")})
	var used *UsedError
	if _, err := elsewhere.Use(waiting(""), "task"); !errors.As(err, &used) || string(used.Reply.Tail) != "tail" {
		t.Errorf("settled: got %v, want the stored reply", err)
	}
}

// One caller cannot exhaust the memory for used states of others, and with a store it does not fill up at all.
func TestKeeper_limitsUsedStatesPerCaller(t *testing.T) {
	for _, stored := range []bool{false, true} {
		s := spent{now: func() time.Time { return now }, stored: stored}
		var failed error
		for n := range maxOfOne + 1 {
			c, err := s.claim(strconv.Itoa(n), "ada", now.Add(time.Hour))
			if failed = err; err == nil {
				c.settle(&Reply{Tail: []byte("x")})
			}
		}
		_, eve := s.claim("eve's", "eve", now.Add(time.Hour))
		if (failed == nil) != stored || eve != nil || s.bytes != len(s.uses)-1 {
			t.Errorf("stored %v: ada %v, eve %v, %d bytes of %d", stored, failed, eve, s.bytes, len(s.uses))
		}
	}
}
