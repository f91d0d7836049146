package doctor

import (
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// clockSlack is the difference between two clocks that causes no harm: file systems and machines differ by seconds.
const clockSlack = 2 * time.Minute

// machine examines the clock and the features of the kernel.
func (s Subject) machine(r *Report) {
	s.clock(r)
	if slices.Contains(image.Ways(), image.Scan) {
		r.add(OK, "clean room", "the kernel reports the pages that a call wrote (PAGEMAP_SCAN)")
		return
	}
	r.add(Note, "clean room", "this system cannot report the pages that a call wrote (Linux 6.7 can), so that a reset copies or discards more; it is as thorough, and slower")
}

// clock reports a clock that is behind the state folder or this build: answers and continuations then expire late.
func (s Subject) clock(r *Report) {
	late := s.Now.Add(clockSlack)
	for _, path := range []string{s.Settings.Text("state"), s.Settings.State().Audit(), s.Settings.LockFile()} {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(late) {
			r.add(Problem, "clock", "it is %s, and %s was changed at %s: answers for an hour hold longer", s.Now.UTC().Format(time.RFC3339), path,
				info.ModTime().UTC().Format(time.RFC3339)).next("set the clock")
			return
		}
	}
	if built, ok := buildTime(); ok && built.After(late) {
		r.add(Problem, "clock", "it is %s, before this program was written", s.Now.UTC().Format(time.RFC3339)).next("set the clock")
		return
	}
	r.add(OK, "clock", "%s", s.Now.UTC().Format(time.RFC3339))
}

// buildTime returns the time of the commit of this build.
func buildTime() (time.Time, bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return time.Time{}, false
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			at, err := time.Parse(time.RFC3339, s.Value)
			return at, err == nil
		}
	}
	return time.Time{}, false
}
