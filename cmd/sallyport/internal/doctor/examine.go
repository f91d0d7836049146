package doctor

import (
	"context"
	"errors"
	"os"
	goruntime "runtime"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// Subject is the installation to examine.
type Subject struct {
	Settings *settings.Settings
	Broken   error     // the error of the configuration file; nil if it is valid
	Program  string    // path of this program
	Now      time.Time // the time of the examination
	// Load loads the plugin folder.
	Load func(context.Context) (Folder, error)
	// Secrets returns the secrets of grants that have no value; see Secret.
	Secrets func() ([]Secret, error)
}

// Secret is a secret that a grant uses and that has no value.
type Secret struct {
	Name, Plugin string
	State        string // the reason
	Next         string // the command that sets it; "" if there is none
}

// Examine examines an installation. It writes nothing but the caches that loading a plugin folder fills.
func Examine(ctx context.Context, s Subject) *Report {
	r := &Report{
		Version: host.Version(), Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH, Engine: host.Engine(),
	}
	s.configuration(r)
	s.folders(r)
	s.plugins(ctx, r)
	s.grants(r)
	s.callers(r)
	s.signatures(r)
	s.records(ctx, r)
	s.wiring(r)
	s.machine(r)
	return r
}

// configuration examines the configuration file and its values.
func (s Subject) configuration(r *Report) {
	file := s.Settings.Watched()
	info, err := os.Stat(file)
	switch {
	case s.Broken != nil:
		r.add(Problem, "configuration", "%v; running hosts keep the last valid one", s.Broken).next("correct that line")
	case errors.Is(err, os.ErrNotExist):
		r.add(OK, "configuration", "none at %s, so that no plugin has a grant", file)
	case err != nil:
		r.add(Problem, "configuration", "%v", err)
	default:
		r.add(OK, "configuration", "%s", file)
		s.writableByOthers(r, "configuration", file, info)
	}
	for _, name := range settings.Strays() {
		r.add(Warning, "variable "+name, "it sets nothing: no setting has that name").next("sallyport config lists the settings")
	}
	s.risky(r)
}

// risky reports settings that are valid and seldom meant.
func (s Subject) risky(r *Report) {
	if s.Settings.Text("http.addr") != "" && s.Settings.Bool("http.no_token") {
		r.add(Warning, "http.no_token", "every program on this machine can call the tools on %s", s.Settings.Text("http.addr")).
			next("remove http.no_token")
	}
	if s.Settings.Text("ask") == "off" {
		r.add(Note, "ask", "it is off: an effect that a plugin announced is denied without a question")
	}
	for _, p := range s.Settings.Plugins {
		if p.Trust.Dev {
			r.add(Warning, "plugins."+p.Name+".dev", "any bytes in its file have its grants, without approval").next("remove dev: true when the plugin is finished")
		}
	}
}
