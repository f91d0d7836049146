// Files is a Sallyport plugin for the files that its operator grants: list, read, search, write and edit, and each
// file as a resource. Paths are those of the host. Files without a grant are invisible.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

var plugin = sallyport.New("files", "1.0.0",
	sallyport.Description("Lists, reads, searches, writes and edits the files that it is granted."),
	sallyport.Want("fs", "read ~/work/**", "lists, reads and searches files"),
	sallyport.Want("fs", "write ~/work/**", "writes and edits files"),
	sallyport.Tool("list", "Lists a folder, or a whole tree to some depth. Without a path it shows what is there at all.",
		list, reading("List files")...),
	sallyport.Tool("read", "Reads a text file, or some of its lines, or an image.", read, reading("Read a file")...),
	sallyport.Tool("search", "Searches file contents for a regular expression, and file names for a pattern.",
		search, reading("Search files")...),
	sallyport.Tool("write", "Writes a text file: a new one, over an old one, or at its end. Missing folders are made.",
		write, writing("Write a file")...),
	sallyport.Tool("edit", "Replaces pieces of a text file. Each old text must be there exactly once, unless all is set. "+
		"Nothing is written unless every edit fits.", edit, writing("Edit a file")...),
	sallyport.Template("file:///{+path}", "file", "A granted file, by its absolute path.", readResource,
		sallyport.Completion("path", completePath)),
)

func reading(title string) []sallyport.Option {
	return []sallyport.Option{sallyport.Title(title), sallyport.ReadOnly(), sallyport.OpenWorld(false)}
}

func writing(title string) []sallyport.Option {
	return []sallyport.Option{sallyport.Title(title), sallyport.Destructive(true), sallyport.OpenWorld(false)}
}

func init() { plugin.Serve() }

func main() {}
