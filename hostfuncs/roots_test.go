package hostfuncs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// rooted is a client with roots.
type rooted struct {
	listener
	roots string
	asked int
}

func (r *rooted) Ask(_ context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	r.asked += len(round)
	return []runtime.Answer{{Result: json.RawMessage(r.roots)}}, nil
}

// TestRoots_bindFoldersOfClient checks that {roots} binds the client's folders, limited by the operator's line, and
// that the client is asked only if no other line allows the effect.
func TestRoots_bindFoldersOfClient(t *testing.T) {
	work := t.TempDir()
	for _, name := range []string{"one/a", "two/a", "open/a"} {
		file := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		principal, roots string
		want             map[string]bool
		asked            int
	}{
		{"stdio:1", `{"roots":[{"uri":"file://` + work + `/one"},{"uri":"file:///etc"}]}`, map[string]bool{"/one/a": true, "/two/a": false}, 1},
		{"stdio:1", `{"roots":[{"uri":"file://` + filepath.Dir(work) + `"}]}`, map[string]bool{"/one/a": true, "/two/a": true}, 1},
		{"stdio:1", `{"roots":[{"uri":"file://elsewhere` + work + `"}]}`, map[string]bool{"/one/a": false}, 1},
		{"stdio:1", `{"roots":[]}`, map[string]bool{"/one/a": false, "/two/a": false}, 1},
		{"stdio:1", `nonsense`, map[string]bool{"/one/a": false}, 1},
		{"stdio:1", `{"roots":[{"uri":"file://` + work + `/one"}]}`, map[string]bool{"/open/a": true}, 0},
		{"token:x", `{"roots":[{"uri":"file://` + work + `/one"}]}`, map[string]bool{"/one/a": false}, 0},
	} {
		h := hostfuncs.NewHost(nil)
		client := &rooted{roots: tt.roots}
		g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t,
			"fs: read {roots}/** {within: ["+work+"]}", "fs: read "+work+"/open/**")}).NewGate(hostfuncs.Call{Principal: tt.principal, Client: client})
		for path, want := range tt.want {
			_, errno := g.Files().Stat(work+path, true)
			if (errno == 0) != want {
				t.Errorf("%s with %s: %s: got %v, want success: %t", tt.principal, tt.roots, path, errno, want)
			}
		}
		if client.asked != tt.asked {
			t.Errorf("%s with %s: asked %d times, want %d", tt.principal, tt.roots, client.asked, tt.asked)
		}
		g.Close()
		h.Close()
	}
}

// A {roots} line with who binds the folders of its callers alone: the client of another is not asked.
func TestRoots_bindForTheCallersOfALine(t *testing.T) {
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, `fs: read {roots}/** {within: [`+work+`], who: ["stdio:1", group:ops]}`)})
	for _, tt := range []struct {
		principal string
		groups    []string
		want      bool
	}{{"stdio:1", nil, true}, {"stdio:2", nil, false}, {"stdio:2", []string{"ops"}, true}} {
		client := &rooted{roots: `{"roots":[{"uri":"file://` + work + `"}]}`}
		g := p.NewGate(hostfuncs.Call{Principal: tt.principal, Roles: identity.Roles{Groups: tt.groups}, Client: client})
		if _, errno := g.Files().Stat(filepath.Join(work, "a"), true); (errno == 0) != tt.want || (client.asked > 0) != tt.want {
			t.Errorf("%s of %v: got %v, asked %d times, want success and a question: %t", tt.principal, tt.groups, errno, client.asked, tt.want)
		}
		g.Close()
	}
}

// TestWorkspace_isWorkingDirectoryOfGuest checks that {workspace} is also mounted as /workspace, the guests' working
// directory.
func TestWorkspace_isWorkingDirectoryOfGuest(t *testing.T) {
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	for line, want := range map[string]bool{"fs: read {workspace}/**": true, "fs: read " + work + "/**": true, "fs: read /nowhere/**": false} {
		g := h.Plugin(hostfuncs.Plugin{Name: "demo", Workspace: work, Grants: mustSet(t, line)}).NewGate(hostfuncs.Call{})
		for _, path := range []string{"/workspace/a", work + "/a"} {
			if _, errno := g.Files().Stat(path, true); (errno == 0) != want {
				t.Errorf("%s: %s: got %v, want success: %t", line, path, errno, want)
			}
		}
		g.Close()
	}
}
