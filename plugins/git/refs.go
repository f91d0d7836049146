package main

import (
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type refsArgs struct {
	Repo     string `json:"repo,omitempty" doc:"a path in the repository; the granted folder if absent"`
	Contains string `json:"contains,omitempty" doc:"only names with this in them"`
}

func refs(_ *sallyport.Call, a refsArgs) (string, error) {
	r, err := open(a.Repo)
	if err != nil {
		return "", err
	}
	var lines []string
	it, err := r.IterReferences()
	if err != nil {
		return "", err
	}
	err = it.ForEach(func(ref *plumbing.Reference) error {
		if line := r.refLine(ref); line != "" && strings.Contains(line, a.Contains) {
			lines = append(lines, line)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(lines)
	out := output{}
	out.printf("%s\n", strings.Join(append([]string{r.headLine()}, lines...), "\n"))
	return out.String(), nil
}

func (r *repository) headLine() string {
	head, err := r.Reference(plumbing.HEAD)
	switch {
	case err != nil:
		return "HEAD cannot be read: " + err.Error()
	case head.Type() == plumbing.SymbolicReference:
		return "HEAD is " + head.Target().Short()
	}
	return "HEAD is detached at " + short(head.Hash())
}

// refLine returns a line such as "branch main 0123456789", or "" for other refs than branches and tags.
func (r *repository) refLine(ref *plumbing.Reference) string {
	kind := ""
	switch name := ref.Name(); {
	case name.IsBranch():
		kind = "branch"
	case name.IsTag():
		kind = "tag"
	case name.IsRemote():
		kind = "remote"
	default:
		return ""
	}
	if ref.Type() == plumbing.SymbolicReference {
		return kind + " " + ref.Name().Short() + " -> " + ref.Target().Short()
	}
	h, err := r.peel(ref.Hash())
	if err != nil {
		h = ref.Hash()
	}
	return kind + " " + ref.Name().Short() + " " + short(h)
}
