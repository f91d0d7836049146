package doctor

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// rootAge is the age of a trusted root after which a note reminds of an update: authorities change about once a year.
const rootAge = 180 * 24 * time.Hour

// signatures examines the two files that a source with required identities needs.
func (s Subject) signatures(r *Report) {
	if !slices.ContainsFunc(s.Settings.Sources, func(x source.Rule) bool { return len(x.Require) > 0 }) {
		return
	}
	const topic = "signatures"
	if _, err := os.Stat(sigstore.Beside(s.Program)); err != nil {
		r.add(Problem, topic, "%s is missing, and sources: requires identities of sigstore", sigstore.Beside(s.Program)).next("install the whole release")
	}
	root := s.Settings.Text("trusted_root")
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.add(Problem, topic, "there is no trusted root %s yet, and sources: requires identities of sigstore", root).next("sallyport trust update")
	case err != nil:
		r.add(Problem, topic, "%v", err)
	case s.Now.Sub(info.ModTime()) > rootAge:
		r.add(Note, topic, "the trusted root %s is %d days old", root, int(s.Now.Sub(info.ModTime()).Hours()/24)).next("sallyport trust update")
	default:
		r.add(OK, topic, "verified against %s", root)
		s.writableByOthers(r, topic, root, info)
	}
}
