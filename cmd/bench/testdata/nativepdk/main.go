// Echo answers with the text that it is given, built with Sallyport's PDK for Go.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

type args struct {
	Text string `json:"text"`
}

var plugin = sallyport.New("echo", "1",
	sallyport.Tool("echo", "answers with its text", func(_ *sallyport.Call, a args) (string, error) { return a.Text, nil }),
)

func init() { plugin.Serve() }

func main() {}
