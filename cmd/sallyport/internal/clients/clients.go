// Package clients knows where MCP clients keep their servers and how each writes an entry down.
// It merges one entry into such a file and leaves everything else as it stands.
package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
)

// ErrUnchanged says that the file holds the same entry already.
var ErrUnchanged = errors.New("nothing to change")

// entryName is what the server is called in the client's file.
const entryName = "sallyport"

// Server is how a client reaches a host: a command to launch, or an address.
type Server struct {
	Command string
	Args    []string
	URL     string // "" is the command
	Token   string // bearer token for URL; "" is none
}

// Client is one MCP client.
type Client struct {
	Name    string
	section string                            // member of the file that holds the servers
	launch  bool                              // an entry to launch has a type
	http    func(url string, headers any) any // nil: the client only launches
	file    func(home, config string) string  // config is the user's configuration folder
}

func list() []Client {
	typed := func(url string, headers any) any {
		return struct {
			Type    string `json:"type"`
			URL     string `json:"url"`
			Headers any    `json:"headers,omitempty"`
		}{"http", url, headers}
	}
	return []Client{
		{
			Name: "claude-desktop", section: "mcpServers",
			file: func(_, config string) string {
				return filepath.Join(config, "Claude", "claude_desktop_config.json")
			},
		},
		{
			Name: "claude-code", section: "mcpServers", launch: true, http: typed,
			file: func(home, _ string) string { return filepath.Join(home, ".claude.json") },
		},
		{
			Name: "vscode", section: "servers", launch: true, http: typed,
			file: func(_, config string) string { return filepath.Join(config, "Code", "User", "mcp.json") },
		},
		{
			Name: "cursor", section: "mcpServers",
			http: func(url string, headers any) any {
				return struct {
					URL     string `json:"url"`
					Headers any    `json:"headers,omitempty"`
				}{url, headers}
			},
			file: func(home, _ string) string { return filepath.Join(home, ".cursor", "mcp.json") },
		},
		{
			Name: "gemini", section: "mcpServers",
			http: func(url string, headers any) any {
				return struct {
					URL     string `json:"httpUrl"`
					Headers any    `json:"headers,omitempty"`
				}{url, headers}
			},
			file: func(home, _ string) string { return filepath.Join(home, ".gemini", "settings.json") },
		},
	}
}

// List returns the names of the clients.
func List() []string {
	var names []string
	for _, c := range list() {
		names = append(names, c.Name)
	}
	return names
}

// Names is List as one text.
func Names() string { return strings.Join(List(), ", ") }

// Find returns the client of that name.
func Find(name string) (Client, error) {
	for _, c := range list() {
		if c.Name == name {
			return c, nil
		}
	}
	return Client{}, fmt.Errorf("unknown client %q; known are %s", name, Names())
}

// File is where the client keeps its servers.
func (c Client) File() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	if goruntime.GOOS == "linux" && c.Name == "claude-desktop" {
		config = filepath.Join(home, ".config")
	}
	return c.file(home, config), nil
}

// Files are where all known clients keep their servers: what a plugin must not write.
func Files() []string {
	var files []string
	for _, c := range list() {
		if f, err := c.File(); err == nil {
			files = append(files, f)
		}
	}
	return files
}

// entry is the server as this client writes it.
func (c Client) entry(s Server) (json.RawMessage, error) {
	if s.URL == "" {
		e := struct {
			Type    string   `json:"type,omitempty"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}{"", s.Command, s.Args}
		if c.launch {
			e.Type = "stdio"
		}
		return json.Marshal(e)
	}
	if c.http == nil {
		return nil, fmt.Errorf("%s launches its servers; leave --http out", c.Name)
	}
	var headers any
	if s.Token != "" {
		headers = map[string]string{"Authorization": "Bearer " + s.Token}
	}
	return json.Marshal(c.http(s.URL, headers))
}
