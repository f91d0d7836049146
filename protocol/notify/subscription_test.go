package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

func owner(uri string) string {
	name, _, _ := strings.Cut(uri, ":")
	return name
}

func read(t *testing.T, asked string) (Topics, string) {
	t.Helper()
	wants, honoured, err := ReadTopics(json.RawMessage(asked), func(uri string) bool { return !strings.HasPrefix(uri, "none:") })
	if err != nil {
		return wants, err.Error()
	}
	return wants, string(honoured.Append(nil))
}

// methods returns the methods of notifications, with their URIs.
func methods(news [][]byte) string {
	var all []string
	for _, m := range news {
		method, _ := jsonraw.String(jsonraw.Get(m, "method"))
		uri, _ := jsonraw.String(jsonraw.Get(m, "params", "uri"))
		all = append(all, strings.TrimPrefix(method, "notifications/")+uri)
	}
	return strings.Join(all, " ")
}

func TestReadTopics_validates(t *testing.T) {
	many := strings.Repeat(`"a:b",`, MaxTopics) + `"a:b"`
	for asked, want := range map[string]string{
		`{}`: `{}`,
		`{"toolsListChanged":true,"promptsListChanged":false,"other":1}`: `{"toolsListChanged":true}`,
		`{"resourceSubscriptions":["b:2","none:1","a:1"]}`:               `{"resourceSubscriptions":["a:1","b:2"]}`,
		`{"resourcesListChanged":1}`:                                     "params.notifications.resourcesListChanged must be a boolean (-32602)",
		`{"resourceSubscriptions":[1]}`:                                  "params.notifications.resourceSubscriptions must hold strings (-32602)",
		`{"resourceSubscriptions":{}}`:                                   "params.notifications.resourceSubscriptions must be an array of at most 1024 URIs (-32602)",
		`{"resourceSubscriptions":[` + many + `]}`:                       "params.notifications.resourceSubscriptions must be an array of at most 1024 URIs (-32602)",
		`[]`: "params.notifications must be an object (-32602)",
		``:   "params.notifications must be an object (-32602)",
	} {
		if _, got := read(t, asked); got != want {
			t.Errorf("%.80s: got %s, want %s", asked, got, want)
		}
	}
}

// Each subscription gets its topics; changes are collected until fetched, each once.
func TestSubscriptions_tellEachChangeOnce(t *testing.T) {
	var s Subscriptions
	wants, _ := read(t, `{"toolsListChanged":true,"resourceSubscriptions":["a:1","b:1"]}`)
	one, err := s.Open(wants)
	if err != nil {
		t.Fatal(err)
	}
	uris := map[string]bool{"a:2": true}
	for change, session := range map[*catalog.Change]string{
		{Tools: true, Prompts: true}:                              "tools/list_changed prompts/list_changed",
		{Updated: map[string]bool{"a:1": true, "c:1": true}}:      "",
		{Replaced: map[string]bool{"a": true}, Resources: true}:   "resources/list_changed resources/updateda:2",
		{Updated: map[string]bool{"a:2": true}, Resources: false}: "resources/updateda:2",
		{Replaced: map[string]bool{"b": true, "elsewhere": true}}: "",
	} {
		news := s.Tell(*change, owner, uris)
		if got := methods(news.Messages(nil)); got != session {
			t.Errorf("%+v: got %s in the session, want %s", change, got, session)
		}
	}
	<-one.Wake
	if got := methods(one.News(json.RawMessage(`{}`))); got != "tools/list_changed resources/updateda:1 resources/updatedb:1" {
		t.Errorf("got %s in the subscription", got)
	}
	if got := one.News(nil); len(got) != 0 {
		t.Errorf("got %s again, want none", got)
	}
	s.Drop(one)
	news := s.Tell(catalog.Change{Updated: map[string]bool{"a:1": true, "a:2": true}}, owner, nil)
	if got := methods(append(news.Messages(nil), one.News(nil)...)); got != "" {
		t.Errorf("nobody wants to hear %s", got)
	}
}

// A slow listener gets the latest state of each task, within a limited number of notifications.
func TestSubscription_keepsTheLatestStateOfATask(t *testing.T) {
	one := newSubscription(Topics{})
	for i := range 3 * maxTaskNews {
		one.TellTask(task.Task{Spec: task.Spec{ID: fmt.Sprint(i % 2)}, Status: task.Working, Round: i})
	}
	if n := len(one.News(nil)); n != maxTaskNews {
		t.Errorf("got %d notifications, want %d", n, maxTaskNews)
	}
}

func TestSubscriptions_areLimited(t *testing.T) {
	var s Subscriptions
	for range maxListens {
		if _, err := s.Open(Topics{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Open(Topics{}); err == nil {
		t.Error("too many are open")
	}
}

// End reaches all open subscriptions while changes are reported, and none is opened afterwards.
func TestSubscriptions_endReachesAll(t *testing.T) {
	var s Subscriptions
	var work sync.WaitGroup
	for range maxListens {
		one, err := s.Open(Topics{tools: true})
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			<-one.Ended
			one.News(nil)
			s.Drop(one)
		})
		work.Go(func() { s.Tell(catalog.Change{Tools: true}, owner, nil) })
	}
	s.End()
	s.End()
	work.Wait()
	if _, err := s.Open(Topics{}); err == nil || len(s.open) != 0 {
		t.Errorf("got %d open, %v, want none", len(s.open), err)
	}
}
