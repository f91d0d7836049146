// Package sallyport is the library for writing Sallyport plugins in Go.
//
// A plugin is a WebAssembly module that provides tools, resources and prompts to MCP clients. In Go it is a package
// main that makes one [Plugin] and serves it:
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
// Such a module is a library: the host runs its package initialization once, and then one function for each request.
// Therefore [Plugin.Serve] belongs in init, and main stays empty: Go only requires it to exist. A module built
// without -buildmode=c-shared does not serve.
//
// # Tools
//
// [Tool] takes an ordinary function. The input schema is derived from the fields of its argument struct (see [Tool]
// for the tags), and the form of the result from its type: a string is a text, a struct or a map is structured
// content with an output schema, and [Result], [Content] or []Content give full control. A returned error is a result
// with isError, which the model reads. An [*Error] is an MCP error. With [InputSchema] and [RawResult] a tool reads
// and writes raw JSON.
//
// # Host requests
//
// A handler gets a [Call]. Through it the plugin reports progress, logs, sends HTTP requests, and makes all other
// requests to the host ([Call.Ask]). Files, clock, environment and random numbers are available through the standard
// library or this package: os, time, [Config], [Random]. A plugin can access only resources that its operator has
// granted. It declares the grants that it needs with [Want]. The error of a denied request is an [*AskError] with a
// [Kind].
//
//	handler ── c.Fetch ──▶ sallyport.call ──▶ the host's gate ──▶ the world
//	        ◀─ Response ──   a stream      ◀─ grant, limit, record
//
// # One call, one clean instance
//
// By default (see [State]) each call runs in an instance in the state after initialization: changes to package
// variables by other calls are not visible. Do expensive setup in package initialization, and keep no state in
// variables. Go's math/rand is seeded once during initialization and therefore repeats in every call. Use [Random] or
// rand.New([RandomSource]{}) instead.
//
// What code does on first use, it does in every call. [WarmWith] and [Warm] do it once, before the host takes the state
// that calls begin with.
//
// A panic in a handler is not recovered: it prints its stack to standard error, which the host logs, and ends the
// instance. The client receives an error, and the next call gets a new instance.
//
// # Tests
//
// The package builds on every system, except for the imports of the module, so that handlers can be tested with go
// test. Package sallyporttest serves a plugin with a test host.
package sallyport
