package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const params = `{"mode":"form","message":"Plugin demo asks: Who?\n> now","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","title":"Your name","description":"as on the door","maxLength":5},
	"age":{"type":"integer","minimum":0},
	"ok":{"type":"boolean","default":true},
	"colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"],"default":"g"},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"with":{"type":"array","items":{"type":"string","enum":["milk","ice"]},"default":["ice"]}
},"required":["name"]}}`

// demo returns form n of the plugin demo for the caller me.
func demo(n int) elicit.Form {
	return elicit.Form{Plugin: "demo", Digest: "sha256:1", Principal: "stdio:1", Params: json.RawMessage(strings.Replace(params, "Who?", fmt.Sprintf("Who? %d", n), 1))}
}

// desks returns the desks of two processes with one folder, and the number of forms reported to the first.
func desks(t *testing.T) (here, there *elicit.Desk, answers *store.Store, told *int) {
	dir := t.TempDir()
	told = new(int)
	open := func() *store.Store {
		s := store.New(store.Options{Dir: dir})
		t.Cleanup(func() { s.Close() })
		return s
	}
	here = elicit.New(elicit.Options{Store: open(), Wait: true, Told: func(elicit.Form) { *told++ }})
	return here, elicit.New(elicit.Options{Store: open()}), open(), told
}

func TestForm_readsFieldsOfSchema(t *testing.T) {
	f := demo(1)
	want := []elicit.Field{
		{Name: "name", Title: "Your name", Description: "as on the door", Type: "string", Required: true},
		{Name: "age", Type: "integer"},
		{Name: "ok", Type: "boolean", Default: []string{"true"}},
		{Name: "colour", Type: "string", Choices: []elicit.Choice{{"r", "Red"}, {"g", "Green"}}, Default: []string{"g"}},
		{Name: "size", Type: "string", Choices: []elicit.Choice{{"s", "Small"}, {"l", "Large"}}},
		{Name: "with", Type: "array", Choices: []elicit.Choice{{Value: "milk"}, {Value: "ice"}}, Default: []string{"ice"}},
	}
	if got := f.Fields(); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got fields %+v, want %+v", got, want)
	}
	if f.Message() != "Plugin demo asks: Who? 1\n> now" || f.URL() != "" {
		t.Errorf("got message %q and URL %q, want the plugin's question and no URL", f.Message(), f.URL())
	}
}

func TestForm_fillsAndChecksAnswers(t *testing.T) {
	for _, tt := range []struct {
		given    string
		defaults bool
		want     string
	}{
		{"name=Ada", true, `{"name":"Ada","ok":true,"colour":"g","with":["ice"]}`},
		{"name=Ada", false, `{"name":"Ada"}`},
		{"name=Ada age=42 ok=false colour=r size=l with=milk with=ice", true, `{"name":"Ada","age":42,"ok":false,"colour":"r","size":"l","with":["milk","ice"]}`},
		{"name=5", false, `{"name":"5"}`},
		{"name=", false, `{"name":""}`},

		{"age=4", true, "name"},
		{"name=Adamus", true, "/name"},
		{"name=Ada age=-1", true, "/age"},
		{"name=Ada age=x", true, `field "age" is a number`},
		{"name=Ada age=", true, `field "age" is a number`},
		{"name=Ada age=[1]", true, `field "age" is a number`},
		{"name=Ada age=1.5", true, "/age"},
		{"name=Ada ok=yes", true, `field "ok" is true or false`},
		{"name=Ada colour=blue", true, "/colour"},
		{"name=Ada with=rum", true, "/with/0"},
		{"name=Ada name=Bob", true, `field "name" has one value`},
		{"name=Ada extra=1", true, `the form has no field "extra"; it has name, age, ok, colour, size, with`},
	} {
		var values []elicit.Value
		for _, word := range strings.Fields(tt.given) {
			name, text, _ := strings.Cut(word, "=")
			values = append(values, elicit.Value{Name: name, Text: text})
		}
		got, err := demo(1).Fill(values, tt.defaults)
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if err == nil && string(got) != tt.want || err != nil && (strings.HasPrefix(tt.want, "{") || !strings.Contains(string(got), tt.want)) {
			t.Errorf("%s: got %s, want %s", tt.given, got, tt.want)
		}
	}
}

// A form is asked once and answered once by any process, and its answer is for one call with the same plugin, caller
// and form.
func TestDesk_asksOnceAndAnswersOnce(t *testing.T) {
	here, there, answers, told := desks(t)
	ctx := t.Context()
	f, ok := here.Ask(ctx, demo(1))
	if again, ok2 := there.Ask(ctx, demo(1)); !ok || !ok2 || again.ID != f.ID || len(f.ID) != 8 || *told != 1 {
		t.Fatalf("asked twice: got forms %v and %v, told %d times, want the same form, told once", f, again, *told)
	}
	if all, err := elicit.List(ctx, answers); err != nil || len(all) != 1 || all[0].Plugin != "demo" || all[0].Asked.IsZero() {
		t.Errorf("got forms %v, %v, want one of demo", all, err)
	}
	if err := elicit.Reply(ctx, answers, f.ID, elicit.Accept, json.RawMessage(`{"name":"Adamus"}`)); err == nil {
		t.Error("an answer that does not fit: got success, want an error")
	}
	if _, ok := there.Take(ctx, demo(1)); ok {
		t.Error("take before a reply: got an answer, want none")
	}
	if err := elicit.Reply(ctx, answers, f.ID, elicit.Accept, json.RawMessage(`{"name":"Ada"}`)); err != nil {
		t.Fatal(err)
	}
	if err := elicit.Reply(ctx, answers, f.ID, elicit.Decline, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("answered twice: got %v, want %v", err, store.ErrNotFound)
	}
	if _, err := elicit.Get(ctx, answers, f.ID); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	for _, other := range []elicit.Form{demo(2), {Plugin: "other", Digest: f.Digest, Principal: f.Principal, Params: f.Params},
		{Plugin: f.Plugin, Digest: "sha256:2", Principal: f.Principal, Params: f.Params}, {Plugin: f.Plugin, Digest: f.Digest, Principal: "stdio:2", Params: f.Params}} {
		if a, ok := there.Take(ctx, other); ok {
			t.Errorf("%+v: got answer %s, want none", other, a)
		}
	}
	var mu sync.Mutex
	var taken []string
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if a, ok := []*elicit.Desk{here, there}[i%2].Take(ctx, demo(1)); ok {
				mu.Lock()
				defer mu.Unlock()
				taken = append(taken, string(a))
			}
		})
	}
	all.Wait()
	if fmt.Sprint(taken) != `[{"action":"accept","content":{"name":"Ada"}}]` {
		t.Errorf("got answers %v, want one accept with the name Ada", taken)
	}
}

func TestDesk_waitsForAnswer(t *testing.T) {
	here, _, answers, told := desks(t)
	f, _ := here.Ask(t.Context(), demo(1))
	got := make(chan string)
	go func() { got <- string(here.Wait(t.Context(), f)) }()
	if err := elicit.Reply(t.Context(), answers, f.ID, elicit.Decline, nil); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a != `{"action":"decline"}` {
		t.Errorf("got answer %s, want decline", a)
	}
	if all, _ := elicit.List(t.Context(), answers); len(all) != 0 || *told != 1 {
		t.Errorf("after the answer: got forms %v, told %d times, want none, told once", all, *told)
	}
	f, _ = here.Ask(t.Context(), demo(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := string(here.Wait(ctx, f)); a != `{"action":"cancel"}` {
		t.Errorf("a call that has ended: got answer %s, want cancel", a)
	}
	if all, _ := elicit.List(t.Context(), answers); len(all) != 0 {
		t.Errorf("a call that has ended: got forms %v, want none", all)
	}
}

// Two calls that wait for equal forms need two answers.
func TestDesk_Wait_two(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	asked, got := make(chan elicit.Form, 10), make(chan string, 2)
	told := func(f elicit.Form) { asked <- f }
	here, there := elicit.New(elicit.Options{Store: kept, Wait: true, Told: told}), elicit.New(elicit.Options{Store: kept, Wait: true, Told: told})
	f, _ := here.Ask(t.Context(), demo(1))
	for _, d := range []*elicit.Desk{here, there} {
		go func() { got <- string(d.Wait(t.Context(), f)) }()
	}
	for range 2 {
		if err := elicit.Reply(t.Context(), kept, (<-asked).ID, elicit.Decline, nil); err != nil {
			t.Fatal(err)
		}
		<-got
	}
}

// A plugin gets at most twenty forms through, and none that exceeds the size limit.
func TestDesk_tooMany(t *testing.T) {
	here, _, _, told := desks(t)
	for i := range 30 {
		here.Ask(t.Context(), demo(i))
	}
	other := demo(1)
	other.Plugin = "other"
	if _, ok := here.Ask(t.Context(), other); *told != 21 || !ok {
		t.Errorf("another plugin: got told %d times, asked %t, want 21, true", *told, ok)
	}
	other.Params = json.RawMessage(strings.Replace(params, "Who?", strings.Repeat("x", elicit.MaxParams), 1))
	if _, ok := here.Ask(t.Context(), other); ok {
		t.Error("a question that is too long: got it asked, want it dropped")
	}
}

// A delivered answer makes room. A different plugin has its own limit.
func TestDesk_room(t *testing.T) {
	d, _, answers, _ := desks(t)
	var first elicit.Form
	for i := range 21 {
		f, ok := d.Ask(t.Context(), demo(i))
		if ok != (i < 20) {
			t.Fatalf("question %d: got asked %t, want %t", i, ok, i < 20)
		}
		if i == 0 {
			first = f
		}
	}
	other := demo(21)
	other.Plugin = "demo2"
	if _, ok := d.Ask(t.Context(), other); !ok {
		t.Error("another plugin: got its question dropped, want it asked")
	}
	if err := elicit.Reply(t.Context(), answers, first.ID, elicit.Decline, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Ask(t.Context(), demo(21)); ok {
		t.Error("with an answer not yet taken: got the question asked, want it dropped")
	}
	if _, ok := d.Take(t.Context(), first); !ok {
		t.Error("take after the reply: got no answer, want one")
	}
	if _, ok := d.Ask(t.Context(), demo(21)); !ok {
		t.Error("with an answer taken: got the question dropped, want it asked")
	}
}

func TestDesk_storeFails(t *testing.T) {
	s := store.New(store.Options{Dir: t.TempDir()})
	s.Close()
	d := elicit.New(elicit.Options{Store: s})
	if _, ok := d.Ask(t.Context(), demo(1)); ok {
		t.Error("ask with a closed store: got asked, want not")
	}
	if _, ok := d.Take(t.Context(), demo(1)); ok {
		t.Error("take with a closed store: got an answer, want none")
	}
}

// The content from Fill is valid for every form and input.
func FuzzFill(f *testing.F) {
	f.Add(params, "name", "Ada", true)
	f.Add(`{"requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":5}]},"default":[1,null]},"b":{"type":"number","default":{}}}}}`, "b", "1e9", false)
	f.Fuzz(func(t *testing.T, raw, name, text string, defaults bool) {
		asked := elicit.Form{Params: json.RawMessage(raw)}
		_, _, _ = asked.Message(), asked.URL(), asked.Fields()
		content, err := asked.Fill([]elicit.Value{{Name: name, Text: text}}, defaults)
		if err == nil && !json.Valid(content) {
			t.Fatalf("got content %q, want JSON", content)
		}
	})
}
