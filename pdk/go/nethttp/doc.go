// Package nethttp gives net/http the network of Sallyport: http.DefaultTransport, and with it http.Get and a Client
// without a Transport, send their requests by http/fetch, under the net and secret grants of the plugin. It is for a
// program that is built by hand for GOOS=wasip1; an import for its effect is enough:
//
//	import _ "github.com/sallyport-mcp/sallyport/pdk/go/nethttp"
//
// A Transport that the program makes, or a Clone of the default one, needs [Register]. A program that cannot be changed
// is built by sallyport build --go, which replaces the network of all its transports. Elsewhere than in WASI the package
// changes nothing.
//
// Redirects are left to the Client, so that each is a request of its own. While a request waits for its answer no other
// goroutine runs: the deadline of its context is passed to the host, and a cancellation takes effect after it.
package nethttp
