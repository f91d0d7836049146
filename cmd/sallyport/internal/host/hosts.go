package host

import (
	"net/url"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// RunningHost describes a host of a state folder for its operator.
type RunningHost struct {
	Dir     string // the folder that it serves
	Began   time.Time
	Clients []string // names that its clients gave themselves
}

// Running returns the running hosts of the state folder of these settings, oldest first.
func Running(s *settings.Settings, kept *store.Store) ([]RunningHost, error) {
	all, err := runningHosts(s, kept)
	var hosts []RunningHost
	for _, h := range all {
		hosts = append(hosts, RunningHost{Dir: h.Dir, Began: h.Began, Clients: h.Clients})
	}
	return hosts, err
}

// ConsoleAddress returns the last address of the console without its token; "" if there was none.
func ConsoleAddress(s *settings.Settings) string {
	at, err := readConsoleAddress(s)
	if err != nil {
		return ""
	}
	u, err := url.Parse(at.URL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
