package commit

import (
	"os"
	"runtime"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
)

// removesOpen reports whether an open file can be removed.
const removesOpen = runtime.GOOS != "windows"

// link gives a file a hard link, possibly in another folder, if the system can. Both folders are held open.
func link(from *os.Root, name string, to *os.Root, second string) error {
	if from == to {
		return from.Link(name, second)
	}
	return system.Link(system.Name{Folder: from, Name: name}, system.Name{Folder: to, Name: second})
}
