package sallyport

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type city struct {
	Name string `json:"name"`
}

// The functions of a tool and a prompt run once for each WarmWith, then those of Warm, in the order of New.
func TestPlugin_WarmUp_runsInTheOrderOfNew(t *testing.T) {
	var ran []string
	note := func(format string, args ...any) { ran = append(ran, fmt.Sprintf(format, args...)) }
	p := New("t", "1",
		Warm(func() { note("first") }),
		Tool("other", "", func(*Call, None) (string, error) { note("other"); return "", nil }),
		Tool("weather", "", func(_ *Call, a city) (map[string]city, error) { note("weather %s", a.Name); return nil, nil },
			WarmWith(city{"Oslo"}), WarmWith(json.RawMessage(`{"name":"Rome"}`))),
		Prompt("ask", "", func(_ *Call, a city) (string, error) { note("ask %s", a.Name); return "", nil }, WarmWith(map[string]string{"name": "Bonn"})),
		Warm(func() { note("last") }),
	)
	if len(ran) > 0 {
		t.Errorf("New: got %q run, want none", ran)
	}
	p.WarmUp()
	if want := []string{"weather Oslo", "weather Rome", "ask Bonn", "first", "last"}; !reflect.DeepEqual(ran, want) {
		t.Errorf("got %q, want %q", ran, want)
	}
}

// own has an encoder of its author, which must not run without a call.
type own struct{ N int }

func (own) MarshalJSON() ([]byte, error) { panic("the author's code runs") }
func (own) MarshalText() ([]byte, error) { panic("the author's code runs") }
func (own) IsZero() bool                 { panic("the author's code runs") }

func TestPlugin_WarmUp_runsNoCodeOfTheAuthorByDefault(t *testing.T) {
	type holder struct {
		Own     own            `json:"own,omitzero"`
		Pointer *own           `json:"pointer"`
		List    []own          `json:"list"`
		Map     map[string]own `json:"map"`
		Keys    map[own]string `json:"keys"`
		Any     any            `json:"any"`
		Inner   *holder2       `json:"inner"`
	}
	fails := func() { t.Error("got a handler run in the warm-up, want none") }
	New("t", "1",
		Tool("a", "", func(*Call, struct{ Own *own }) (holder, error) { fails(); return holder{}, nil }, OutputSchema("")),
		Tool("b", "", func(*Call, None) (*holder, error) { fails(); return nil, nil }),
		Tool("c", "", func(*Call, None) (own, error) { fails(); return own{}, nil }),
		Tool("d", "", func(*Call, None) (any, error) { fails(); return nil, nil }),
		Tool("e", "", func(*Call, None) (map[string]any, error) { fails(); return nil, nil }),
		Tool("f", "", func(*Call, None) ([]Content, error) { fails(); return nil, nil }),
		RawTool("g", "", `{"type":"object"}`, func(*Call, json.RawMessage) (json.RawMessage, error) { fails(); return nil, nil }),
		Resource("x://a", "a", "", func(*Call) (holder, error) { fails(); return holder{}, nil }),
		Template("x://b/{v}", "b", "", func(*Call, Vars) ([]byte, error) { fails(); return nil, nil }),
		Prompt("p", "", func(*Call, None) (Message, error) { fails(); return Message{}, nil }),
	).WarmUp()
}

// holder2 is recursive.
type holder2 struct {
	Next *holder2 `json:"next"`
	Own  own      `json:"own"`
}

// Every request to the host is denied, and its error says why.
func TestPlugin_WarmUp_deniesRequests(t *testing.T) {
	var errs []error
	New("t", "1", Tool("f", "", func(c *Call, _ None) (string, error) {
		_, err := c.Get("https://example.com")
		errs = append(errs, err, c.Ask("kv/get", map[string]string{"key": "k"}, nil), c.Round(&Asking{Method: "a"}, &Asking{Method: "b"}))
		_, err = Elicit[city](c, "Where?")
		body, bodyErr := c.NewBody(0)
		errs = append(errs, err, bodyErr)
		if bodyErr == nil {
			_, err = body.Write([]byte("x"))
			errs = append(errs, err)
		}
		c.Info("it works")
		c.Progress(1, 2, "")
		return "", nil
	}, WarmWith(None{}))).WarmUp()
	if len(errs) != 5 {
		t.Fatalf("got %d errors %v, want 5", len(errs), errs)
	}
	for i, err := range errs {
		if KindOf(err) != KindDenied || !strings.Contains(err.Error(), "nothing is granted in a warm-up") {
			t.Errorf("request %d: got %v, want \"nothing is granted in a warm-up\" in it", i, err)
		}
	}
}

func TestWarmWith_refusesOthersThanObjects(t *testing.T) {
	for _, arguments := range []any{nil, "x", []int{1}, func() {}, json.RawMessage(`{`)} {
		func() {
			defer func() {
				if got, want := fmt.Sprint(recover()), "sallyport: the arguments of WarmWith of tool f are not an object"; got != want {
					t.Errorf("%v: got %s, want %s", arguments, got, want)
				}
			}()
			Tool("f", "", func(*Call, None) (string, error) { return "", nil }, WarmWith(arguments))
		}()
	}
}
