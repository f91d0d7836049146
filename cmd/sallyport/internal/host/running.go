package host

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

const (
	// maxClients is the limit of client names that a host publishes: HTTP clients choose them freely.
	maxClients = 8
	// maxHostState is the limit of a host's file in bytes, enough for a thousand plugins with their grants.
	maxHostState = 8 << 20
)

// hostState is the state that one host publishes to the others of its state folder, in a file that is valid while the
// process holds its ID.
type hostState struct {
	ID      string           `json:"id"`
	Began   time.Time        `json:"began"`
	Dir     string           `json:"dir"`
	Config  string           `json:"config"` // its configuration file, which may not exist
	Lock    string           `json:"lock"`   // its lock file, "" for the lock of the database
	Chain   string           `json:"chain"`  // chain ID of its audit log
	Clients []string         `json:"clients"`
	Plugins []console.Plugin `json:"plugins"`
}

// clientNames holds the names clients gave themselves. It is safe for concurrent use.
type clientNames struct {
	mu    sync.Mutex
	names []string
}

// Met records the name of a client.
func (h *Host) Met(name string) {
	c := &h.clients
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) < maxClients && !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
		h.stir()
	}
}

// stir tells the publisher that the published state may have changed.
func (h *Host) stir() {
	select {
	case h.stirred <- struct{}{}:
	default: // it was not received yet
	}
}

func (c *clientNames) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.names...)
}

// publisher publishes the state of this host to the other processes of its state folder.
type publisher struct {
	host    *Host
	state   hostState
	version any // Registry.Version at the last write
	wrote   []byte
}

// newPublisher creates the entry and holds its ID for this process.
func newPublisher(h *Host) (*publisher, error) {
	s := h.settings
	p := &publisher{host: h, state: hostState{
		ID: "host" + strings.ToLower(rand.Text()[:10]), Began: time.Now(), Dir: s.Text("dir"), Config: s.Watched(),
	}}
	if !s.SharesLock() {
		p.state.Lock = s.LockFile()
	}
	return p, h.Store.Hold(p.state.ID)
}

// refresh writes the file if the state changed.
func (p *publisher) refresh() error {
	chain, clients, version := p.host.audit.Chain(), p.host.clients.list(), p.host.Registry.Version()
	if p.wrote != nil && p.version == version && p.state.Chain == chain && len(p.state.Clients) == len(clients) {
		return nil
	}
	p.state.Chain, p.state.Clients, p.state.Plugins = chain, clients, p.host.shown()
	raw, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	_, err = userfile.Change(p.file(), func([]byte) ([]byte, error) { return raw, nil }, userfile.Options{Fleeting: true})
	if err != nil {
		p.wrote = nil // to be tried again
		return err
	}
	p.wrote, p.version = raw, version
	return nil
}

func (p *publisher) file() string { return hostStateFile(p.host.settings, p.state.ID) }

// end removes the file.
func (p *publisher) end() { _ = os.Remove(p.file()) }

func hostStateFile(s *settings.Settings, id string) string {
	return filepath.Join(s.State().Hosts(), id+".json")
}

// runningHosts returns the running hosts of a state folder, oldest first. It removes the files of hosts that have
// exited.
func runningHosts(s *settings.Settings, kept *store.Store) ([]hostState, error) {
	entries, err := os.ReadDir(s.State().Hosts())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []hostState
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".json")
		if !is || !strings.HasPrefix(id, "host") {
			continue
		}
		if kept.Gone(id) {
			_ = os.Remove(hostStateFile(s, id)) // another process may have removed it
			continue
		}
		m, err := readHostState(hostStateFile(s, id))
		if err != nil || m.ID != id {
			continue // the host has just exited
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b hostState) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func readHostState(file string) (m hostState, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return m, err
	}
	if info.Size() > maxHostState {
		return m, fmt.Errorf("%s: larger than %d MiB", file, maxHostState>>20)
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	return m, err
}

// settings returns the settings of a host, for commands and the console to work on its plugins.
func (m *hostState) settings(state string) (*settings.Settings, error) {
	file := m.Config
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		file = ""
	}
	flags := map[string]string{"state": state}
	if m.Lock != "" {
		flags["lock"] = m.Lock
	}
	return settings.LoadAs(file, m.Dir, flags)
}
