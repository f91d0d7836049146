// Package sallyport is what the author of a Sallyport plugin imports.
//
// A plugin is a WebAssembly module that gives tools, resources and prompts to MCP clients. In Go it
// is an ordinary package main that makes one [Plugin] and serves it:
//
//	package main
//
//	import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
//
//	type args struct {
//		Name string `json:"name" doc:"who to greet"`
//	}
//
//	func greet(c *sallyport.Call, a args) (string, error) {
//		return "Hello, " + a.Name + "!", nil
//	}
//
//	var plugin = sallyport.New("hello", "1.0.0",
//		sallyport.Tool("greet", "Greets a person.", greet),
//	)
//
//	func init() { plugin.Serve() }
//
//	func main() {}
//
// It is built with the Go toolchain alone:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o hello.wasm .
//
// Such a module is a library: the host runs its package initialization once and then one function for
// each request, so [Plugin.Serve] belongs in init, and main is there only because Go wants one. A
// module built without -buildmode=c-shared does not serve.
//
// # Tools
//
// [Tool] takes an ordinary function. The input schema comes from the fields of its argument struct
// (see [Tool] for the tags), the result from its type: a string is a text, a struct or a map is
// structured content with an output schema, and [Result], [Content] or []Content say everything. A
// returned error is a result with isError, which the model reads; an [*Error] is an MCP error. With
// [InputSchema] and [RawResult] a tool reads and writes the wire's own JSON.
//
// # What a call may ask for
//
// A handler gets a [Call]. Through it the plugin reports progress, logs, asks for HTTP, and asks for
// anything else the host knows by name ([Call.Ask]). Files, clock, environment and random numbers are
// the standard library's: os, time, [Config], [Random]. A plugin sees only what its operator has
// granted; it says with [Want] what it would like. A refusal is an [*AskError] with a [Kind].
//
//	handler ── c.Fetch ──▶ sallyport.call ──▶ the host's gate ──▶ the world
//	        ◀─ Response ──   a stream      ◀─ grant, limit, record
//
// # One call, one clean instance
//
// Unless a plugin asks for another [State], each call runs in an instance that is as fresh as after
// start-up: package variables that a call changes are back to what they were. Set up what is expensive
// in package initialization, keep nothing in variables. Go's math/rand is seeded once at start-up and
// so repeats in every call; take [Random] or a rand.New([RandomSource]{}) instead.
//
// A panic in a handler is not recovered: it prints its stack to standard error, which the host logs, and
// ends the instance. The client is told that the call failed; the next call has a new instance.
//
// # Tests
//
// All of a plugin but the imports of the module builds on every system, so handlers are tested with go
// test. Package sallyporttest serves a plugin with a host made for tests.
package sallyport
