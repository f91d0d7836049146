// Conformance is a Sallyport plugin with the fixtures of MCP's public conformance suite: tools, resources and prompts
// with the names and results that its scenarios expect. It must be published with bare names (prefix: false), as in
// sallyport.yaml in this folder.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

var plugin = sallyport.New("conformance", "1.0.0", items()...)

func items() []sallyport.Item {
	all := []sallyport.Item{sallyport.Description("Fixtures of the public MCP conformance suite.")}
	all = append(all, tools()...)
	all = append(all, changes()...)
	all = append(all, longRunning()...)
	all = append(all, asking()...)
	all = append(all, resources()...)
	return append(all, prompts()...)
}

func init() { plugin.Serve() }

func main() {}
