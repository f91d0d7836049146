package server

import (
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxRehearsals is the number of tools over which a server has no rehearsal.
const maxRehearsals = 32

const (
	// toolsList is the method by which the greeter warms a server up.
	toolsList = "tools/list"
	// ping is the method of requests that leave no state, but for the heap's.
	ping = "ping"
)

const (
	// calmPings have to follow each other before the image.
	calmPings = 4
	// maxPings and pingFuel bound the pings before the image.
	maxPings = 40
	pingFuel = 1_000_000_000
)

// greeter completes the handshake. It asks for the tools as a warm-up, and its result has the server's capabilities and
// the answer. Then it sends pings, until calmPings of them take about the least fuel: the garbage collector of Go runs on
// for some requests behind the one that starts it, and an image in between would have every call do that work.
type greeter struct {
	*conversation
	requests []string // to make
	asked    string   // the last one
	tools    json.RawMessage
	pings    int
	calm     int    // pings in a row that took about as much fuel as the cheapest of all
	most     uint64 // fuel of the dearest of them
	least    uint64 // fuel of the cheapest ping
	before   uint64 // fuel spent before the last ping
	spent    uint64 // by pings
}

func (g *greeter) begin() {
	if g.has("logging") {
		g.requests = append(g.requests, setLevel)
	}
	if g.has("tools") {
		g.requests = append(g.requests, toolsList)
	}
	g.next()
}

// resumed does nothing: an image is not made of a copy of it.
func (g *greeter) resumed() {}

// answered makes the next request. A server that fails one still serves calls.
func (g *greeter) answered(result json.RawMessage, failed *jsonrpc.Error) {
	switch {
	case g.asked == toolsList:
		g.tools = slices.Clone(result)
	case g.asked == ping && failed != nil:
		g.pings = maxPings
	case g.asked == ping:
		g.weigh(g.in.Spent() - g.before)
	}
	g.next()
}

// weigh counts a ping by its fuel.
func (g *greeter) weigh(fuel uint64) {
	if g.spent += fuel; g.spent > pingFuel {
		g.pings = maxPings
		return
	}
	if g.pings == 1 || fuel < g.least {
		g.least = fuel
	}
	about := g.least + g.least/8
	if g.most = max(g.most, fuel); g.most > about { // the row ends, and this one may begin the next
		g.calm, g.most = 0, 0
	}
	if fuel <= about {
		g.calm++
		g.most = max(g.most, fuel)
	}
}

func (g *greeter) next() {
	if len(g.requests) == 0 && g.calm < calmPings && g.pings < maxPings {
		g.pings++
		g.asked, g.before = ping, g.in.Spent()
		g.request(ping, nil)
		return
	}
	if len(g.requests) == 0 {
		o := jsonraw.Object{{Key: "capabilities", Value: jsonraw.Get(g.greeting, "capabilities")}}
		if g.tools != nil {
			o.Set("listed", g.tools)
		}
		g.finish(o.Append(nil))
		return
	}
	g.asked, g.requests = g.requests[0], g.requests[1:]
	params := json.RawMessage("{}")
	if g.asked == setLevel {
		params = everyLevel
	}
	g.request(g.asked, params)
}

// Rehearsals returns a call of each tool of a server whose tools are all that it has: a state that its calls left would
// show in no other answer than theirs.
func (*resuming) Rehearsals(described json.RawMessage) []runtime.Request {
	capabilities, err := jsonraw.ParseObject(jsonraw.Get(described, "capabilities"))
	if err != nil {
		return nil
	}
	for _, c := range capabilities {
		if c.Key != "tools" && c.Key != "logging" {
			return nil
		}
	}
	tools, err := jsonraw.Elements(jsonraw.Get(described, "listed", "tools"))
	if more := jsonraw.Get(described, "listed", "nextCursor"); err != nil || len(tools) > maxRehearsals || !jsonraw.IsNull(more) && string(more) != `""` {
		return nil
	}
	return runtime.ToolCalls(tools)
}
