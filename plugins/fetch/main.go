// Fetch is a Sallyport plugin that reads web pages: it converts HTML to clean Markdown, and returns long pages in
// parts. It requires a net grant for the addresses.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

var plugin = sallyport.New("fetch", "1.0.0",
	sallyport.Description("Reads web pages as clean Markdown, in parts if they are long."),
	sallyport.Want("net", "GET https://**", "reads the pages that it is asked for"),
	sallyport.Tool("fetch", "Reads a web page or file by its URL. HTML comes as Markdown without menus and scripts, "+
		"images as images, other text as it is. A long page comes in parts: the first line says where to go on.",
		fetch, sallyport.Title("Read a web page"), sallyport.ReadOnly(), sallyport.OpenWorld(true)),
)

func init() { plugin.Serve() }

func main() {}
