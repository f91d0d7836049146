// Tools is a plugin with the echo tool of the comparison, which TinyGo builds with Sallyport's PDK for Go.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

type echoArgs struct {
	Text string `json:"text"`
}

var plugin = sallyport.New("tools", "1.0.0",
	sallyport.Tool("echo", "answers with its text", func(_ *sallyport.Call, a echoArgs) (string, error) { return a.Text, nil }))

func init() { plugin.Serve() }

func main() {}
