package doctor

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
)

// wiring examines the entries of MCP clients that launch or reach a host.
func (s Subject) wiring(r *Report) {
	wired := 0
	for _, name := range clients.List() {
		c, err := clients.Find(name)
		if err != nil {
			continue
		}
		file, err := c.File()
		if err != nil {
			continue
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this client is not installed
		}
		var entries []clients.Entry
		if err == nil {
			entries, err = c.Entries(text)
		}
		if err != nil {
			r.add(Warning, "client "+name, "%s: %v", file, err)
			continue
		}
		for _, e := range entries {
			wired++
			s.entry(r, name, file, e)
		}
	}
	if wired == 0 {
		r.add(Note, "clients", "none is wired").next("sallyport client-config CLIENT --write; CLIENT is one of " + clients.Names())
	}
}

// entry reports whether the command of one entry exists, and the folder that it serves.
func (s Subject) entry(r *Report, client, file string, e clients.Entry) {
	topic := "client " + client
	found, err := exec.LookPath(e.Command)
	rewire := "sallyport client-config " + client + " --write"
	switch {
	case err != nil:
		r.add(Problem, topic, "%s names %s as %s, which cannot be started: %v", file, e.Command, e.Name, cause(err)).next(rewire)
	case e.Dir != "" && !exists(e.Dir):
		r.add(Warning, topic, "its entry %s serves %s, and there is no such folder", e.Name, e.Dir).next("sallyport client-config " + client + " --remove --name " + shellword.Quoted(e.Name))
	case !sameProgram(found, s.Program):
		r.add(Note, topic, "its entry %s starts %s, which is not this program", e.Name, found)
	default:
		r.add(OK, topic, "its entry %s starts this program%s", e.Name, serving(e.Dir))
	}
}

func serving(dir string) string {
	if dir == "" {
		return ""
	}
	return " on " + dir
}

// cause strips the name of the program from an error of exec.
func cause(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameProgram reports whether two paths are one file.
func sameProgram(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
