// Hello is the smallest plugin: one tool that greets.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

type args struct {
	Name string `json:"name" doc:"who to greet"`
}

func greet(c *sallyport.Call, a args) (string, error) {
	return "Hello, " + a.Name + "!", nil
}

var plugin = sallyport.New("hello", "1.0.0",
	sallyport.Tool("greet", "Greets a person.", greet),
)

func init() { plugin.Serve() }

func main() {}
