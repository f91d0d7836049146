// Git is a Sallyport plugin that reads git repositories: history, objects, differences, branches and tags. It never
// writes, runs no hooks and needs no git program. It requires a read grant for the repository.
package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

var plugin = sallyport.New("git", "1.0.0",
	sallyport.Description("Reads git repositories: log, show, diff, branches and tags. It never writes."),
	sallyport.Want("fs", "read ~/src/**", "reads repositories and their working files"),
	sallyport.Tool("log", "Shows the history of a branch, or of a file or folder, newest first.", log, reading("History")...),
	sallyport.Tool("show", "Shows a commit with its changes, a tag, or a file or folder as it was (main:path/to/file).",
		show, reading("Show an object")...),
	sallyport.Tool("diff", "Shows the differences between two commits, or between a commit and the working files.",
		diff, reading("Differences")...),
	sallyport.Tool("refs", "Lists branches and tags, and where HEAD is.", refs, reading("Branches and tags")...),
)

func reading(title string) []sallyport.Option {
	return []sallyport.Option{sallyport.Title(title), sallyport.ReadOnly(), sallyport.OpenWorld(false)}
}

func init() { plugin.Serve() }

func main() {}
