package server

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// setLevel is the method by which a client chooses the levels that a server logs.
const setLevel = "logging/setLevel"

var everyLevel = json.RawMessage(`{"level":"debug"}`)

// single makes the request of one call. A server that logs is first asked for all levels: the gate knows those that
// the caller asked for.
type single struct {
	*conversation
	method  string
	params  json.RawMessage
	leveled bool // logging/setLevel was sent, and its response is awaited
}

func (s *single) begin() {
	if s.has("logging") {
		s.leveled = true
		s.request(setLevel, everyLevel)
		return
	}
	s.resumed()
}

func (s *single) resumed() { s.request(s.method, s.params) }

func (s *single) answered(result json.RawMessage, failed *jsonrpc.Error) {
	switch {
	case s.leveled: // a server without this level still serves the call
		s.leveled = false
		s.request(s.method, s.params)
	case failed != nil:
		s.fail(explainedError(failed))
	case !jsonraw.IsObject(result):
		runtime.Abort(endOf(runtime.KindGuest, "the server's result of %s is not an object", s.method))
	default:
		s.finish(explained(result))
	}
}

// lists are the lists of a server: the capability that announces one, its method, and its member in the result, which
// is that of the manifest, and the member of an entry that identifies it.
var lists = []struct{ capability, method, member, key string }{
	{"tools", "tools/list", "tools", "name"},
	{"resources", "resources/list", "resources", "uri"},
	{"resources", "resources/templates/list", "resourceTemplates", "uriTemplate"},
	{"prompts", "prompts/list", "prompts", "name"},
}

// lister makes a manifest of all pages of all lists.
type lister struct {
	*conversation
	only      map[string]bool // the capabilities whose lists are read; nil for all
	done      func(manifest jsonraw.Object)
	described json.RawMessage // the manifest to begin with; nil is none
	next      int             // index in lists of the list that is read
	entries   []json.RawMessage
	cursors   map[string]bool
	size      int
	manifest  jsonraw.Object
}

func (l *lister) begin() {
	l.manifest, _ = jsonraw.ParseObject(l.described)
	l.manifest.Set("state", json.RawMessage(`"call"`))
	for _, key := range []string{"name", "version"} {
		if v := jsonraw.Get(l.greeting, "serverInfo", key); jsonraw.IsString(v) && l.manifest.Get(key) == nil {
			l.manifest.Set(key, v)
		}
	}
	l.list()
}

func (l *lister) resumed() { l.begin() }

// list asks for the first page of the next list, or finishes.
func (l *lister) list() {
	for ; l.next < len(lists); l.next++ {
		if of := lists[l.next]; l.has(of.capability) && (l.only == nil || l.only[of.capability]) {
			l.cursors = map[string]bool{}
			l.request(lists[l.next].method, json.RawMessage("{}"))
			return
		}
	}
	l.done(l.manifest)
}

func (l *lister) answered(result json.RawMessage, failed *jsonrpc.Error) {
	of := lists[l.next]
	switch {
	case failed != nil && failed.Code == jsonrpc.CodeMethodNotFound: // resources without templates, say
	case failed != nil:
		l.fail(failed)
	default:
		page, err := jsonraw.Elements(jsonraw.Get(result, of.member))
		if err != nil {
			runtime.Abort(endOf(runtime.KindGuest, "the server's result of %s has no list %s", of.method, of.member))
		}
		if l.size += len(result); l.size > l.limit {
			runtime.Abort(endOf(runtime.KindLimit, "the server's lists are over %d bytes", l.limit))
		}
		l.entries = append(l.entries, page...)
		if cursor := jsonraw.Get(result, "nextCursor"); !jsonraw.IsNull(cursor) && l.more(of.method, cursor) {
			return
		}
	}
	if l.entries != nil {
		l.manifest.Set(of.member, jsonraw.Array(l.entries))
	}
	l.entries = nil
	l.next++
	l.list()
}

// more asks for the next page, unless the cursor is the empty text that some servers send on the last one.
func (l *lister) more(method string, cursor json.RawMessage) bool {
	text, ok := jsonraw.String(cursor)
	switch {
	case !ok:
		runtime.Abort(endOf(runtime.KindGuest, "the cursor in the server's result of %s is no string", method))
	case text == "":
		return false
	case l.cursors[text]:
		runtime.Abort(endOf(runtime.KindGuest, "the server's result of %s repeats the cursor %s", method, fmt.Sprintf("%.100q", text)))
	}
	l.cursors[text] = true
	l.request(method, jsonraw.Object{{Key: "cursor", Value: cursor}}.Append(nil))
	return true
}
