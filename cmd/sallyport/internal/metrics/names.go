package metrics

import (
	"strings"
	"sync"
	"time"
)

// other is the name of all plugins and tools over the bounds.
const other = "other"

// Bounds of the names in labels. A pair of a plugin and a tool has some 25 series.
const (
	maxPlugins = 256
	maxTools   = 64  // of one plugin, so that none takes the room of the others
	maxPairs   = 512 // of all plugins
	maxName    = 128 // bytes
	// idle is the time after which the name of an unused tool makes room for a new one.
	idle = time.Hour
	// trimTime is the time between two searches for unused names.
	trimTime = time.Minute
)

// names bounds the number of names in labels: plugins and their tools come and go, and plugins name their tools. It is
// safe for concurrent use.
type names struct {
	forget func(plugin, tool string, last bool) // removes the series of a name; called with mu
	now    func() time.Time

	mu      sync.Mutex
	tools   map[string]map[string]time.Time // the last use of each tool, by plugin
	pairs   int                             // in tools; over maxPairs by one of each plugin at most
	trimmed time.Time
}

func newNames() *names {
	return &names{now: time.Now, tools: map[string]map[string]time.Time{}, forget: func(string, string, bool) {}}
}

// pair returns the labels of a plugin and its tool.
func (n *names) pair(plugin, tool string) (string, string) {
	plugin, tool = label(plugin), label(tool)
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if _, known := n.tools[plugin][tool]; known {
		n.tools[plugin][tool] = now
		return plugin, tool
	}
	if !n.room(plugin) {
		n.trim(now)
	}
	tools := n.tools[plugin]
	switch {
	case tools == nil && len(n.tools) >= maxPlugins:
		return other, other
	case !n.room(plugin):
		tool = other
	}
	if tools == nil {
		tools = map[string]time.Time{}
		n.tools[plugin] = tools
	}
	if _, known := tools[tool]; !known {
		n.pairs++
	}
	tools[tool] = now
	return plugin, tool
}

// room reports whether a plugin may have one more tool.
func (n *names) room(plugin string) bool {
	tools, known := n.tools[plugin]
	return n.pairs < maxPairs && len(tools) < maxTools && (known || len(n.tools) < maxPlugins)
}

// trim forgets the names that were not used for a while. It looks once in trimTime.
func (n *names) trim(now time.Time) {
	if now.Sub(n.trimmed) < trimTime {
		return
	}
	n.trimmed = now
	for plugin, tools := range n.tools {
		for tool, used := range tools {
			if now.Sub(used) < idle {
				continue
			}
			delete(tools, tool)
			n.pairs--
			if len(tools) == 0 {
				delete(n.tools, plugin)
			}
			n.forget(plugin, tool, len(tools) == 0)
		}
	}
}

// label returns a name as valid text of bounded length.
func label(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
