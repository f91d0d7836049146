// Asks is a plugin that asks for a name and greets it, at once or as a task, and that keeps a value or nothing.
package main

import (
	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type args struct{}

type person struct {
	Name string `json:"name" title:"Your name"`
}

func greet(c *sallyport.Call, _ args) (string, error) {
	p, err := sallyport.Elicit[person](c, "Who are you?")
	if err != nil {
		return "", err
	}
	return "Hello, " + p.Name, nil
}

func echo(_ *sallyport.Call, _ args) (string, error) { return "Hello", nil }

func note(c *sallyport.Call, _ args) (string, error) {
	_, err := sallyport.KVSet(c, "name", "Ada")
	return "Hello", err
}

var plugin = sallyport.New("asks", "1",
	sallyport.Tool("greet", "asks for a name and greets it", greet),
	sallyport.Tool("later", "does so as a task", greet, sallyport.TaskOnly()),
	sallyport.Tool("echo", "greets", echo),
	sallyport.Tool("note", "keeps a value", note),
	sallyport.Tool("job", "greets as a task", echo, sallyport.TaskOnly()),
)

func init() { plugin.Serve() }

func main() {}
