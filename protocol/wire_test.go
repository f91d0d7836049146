package protocol

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the server's side of testdata anew")

// TestWire_matchesScripts plays each file of testdata: it sends the client section line by line, and the output must equal the
// server section.
//
// A line of the client is a message, with $M for the members of a modern _meta, or a directive:
//
//	@connect [mute] [heard] [eve|ada] begins a new conn; mute lacks Notify, heard has Heard
//	@page N                 starts a new server with pages of N entries
//	@search                 starts a new server with Options.Search
//	@add NAME TOOL…         adds a plugin with tools
//	@sleep DURATION         advances the time
//	@end                    ends the conn's subscriptions
//	@close                  closes the conn
//	@keeps                  makes the plugin t keep its state for all callers
//	@page_tool              adds a plugin p with a tool that has a page
//	@grant LINE             adds a grant to the plugin t
//	@tasks                  gives the plugin t tools with task support
//	@sorted                 sorts each step: responses first, then notifications by subscription, as each has its
//	                        own stream
//
// $CAPS is a modern _meta with all client capabilities, and $TASKS adds the tasks extension. $STATE1 is the first
// requestState of the server, shown as STATE1 in its section, and $TASK1 the first taskId. A ~ after it changes one
// letter.
//
// Each line is processed until all goroutines are blocked, before the next one is sent.
func TestWire_matchesScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no wire tests: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			client, server := section(archive, "client"), section(archive, "server")
			var got []byte
			synctest.Test(t, func(t *testing.T) { got = play(t, client.Data) })
			if *update {
				server.Data = got
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, server.Data) {
				t.Errorf("the server said\n%s\nand should have said\n%s", got, server.Data)
			}
		})
	}
}

// section returns a file of an archive, added if missing.
func section(a *txtar.Archive, name string) *txtar.File {
	for i := range a.Files {
		if a.Files[i].Name == name {
			return &a.Files[i]
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name})
	return &a.Files[len(a.Files)-1]
}
