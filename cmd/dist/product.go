package main

import "encoding/json"

// How the packages describe Sallyport.
const (
	summary    = "Serves sandboxed WebAssembly plugins to MCP clients"
	details    = "One program that loads WebAssembly plugins from a folder and serves their tools, resources and prompts to any MCP client. A plugin touches nothing without a grant."
	homepage   = "https://github.com/sallyport-mcp/sallyport"
	licence    = "Apache-2.0"
	maintainer = "The Sallyport authors"
	serverName = "io.github.sallyport-mcp/sallyport" // in the registry of MCP servers
)

// downloads returns the address under which the files of a release will be.
func (v version) downloads() string { return homepage + "/releases/download/v" + v.semantic() + "/" }

// indented returns a value as indented JSON, with a line feed at the end.
func indented(v any) ([]byte, error) {
	raw, err := json.MarshalIndent(v, "", "  ")
	return append(raw, '\n'), err
}
