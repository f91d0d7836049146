// Package clients edits the configuration files of MCP clients: it finds each client's file, and adds or removes one
// server entry while every other byte stays.
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

// ErrUnchanged is returned when the file already has the same entry.
var ErrUnchanged = errors.New("nothing to change")

// DefaultName is the default name of the entry in the client's file.
const DefaultName = "sallyport"

// Server is the command that launches a host, or the URL of one.
type Server struct {
	Command string
	Args    []string
	URL     string // "" uses Command
	Token   string // bearer token for URL; "" is none
}

// Client is one MCP client.
type Client struct {
	Name    string                            // on the command line
	Title   string                            // product name
	section string                            // member of the file that holds the servers
	launch  bool                              // an entry with a command has a type
	toml    bool                              // the file is TOML, else JSON with comments
	http    func(url string, headers any) any // builds an entry with a URL; nil if the client only launches servers
	file    func(home, config string) string  // config is the user's configuration folder
}

// list returns the table of clients. It is long because it has one entry for each client, and no logic.
func list() []Client {
	typed := func(url string, headers any) any {
		return struct {
			Type    string `json:"type"`
			URL     string `json:"url"`
			Headers any    `json:"headers,omitempty"`
		}{"http", url, headers}
	}
	plain := func(url string, headers any) any {
		return struct {
			URL     string `json:"url"`
			Headers any    `json:"headers,omitempty"`
		}{url, headers}
	}
	return []Client{
		{
			Name: "claude-desktop", Title: "Claude Desktop", section: "mcpServers",
			file: func(_, config string) string {
				return filepath.Join(config, "Claude", "claude_desktop_config.json")
			},
		},
		{
			Name: "claude-code", Title: "Claude Code", section: "mcpServers", launch: true, http: typed,
			file: func(home, _ string) string { return filepath.Join(home, ".claude.json") },
		},
		{
			Name: "vscode", Title: "VS Code", section: "servers", launch: true, http: typed,
			file: func(_, config string) string { return filepath.Join(config, "Code", "User", "mcp.json") },
		},
		{
			Name: "cursor", Title: "Cursor", section: "mcpServers", http: plain,
			file: func(home, _ string) string { return filepath.Join(home, ".cursor", "mcp.json") },
		},
		{
			Name: "gemini", Title: "Gemini CLI", section: "mcpServers",
			http: func(url string, headers any) any {
				return struct {
					URL     string `json:"httpUrl"`
					Headers any    `json:"headers,omitempty"`
				}{url, headers}
			},
			file: func(home, _ string) string { return filepath.Join(home, ".gemini", "settings.json") },
		},
		{
			Name: "codex", Title: "Codex", section: "mcp_servers", toml: true,
			http: func(url string, headers any) any {
				return struct {
					URL     string `json:"url"`
					Headers any    `json:"http_headers,omitempty"`
				}{url, headers}
			},
			file: func(home, _ string) string { return filepath.Join(home, ".codex", "config.toml") },
		},
		{
			Name: "zed", Title: "Zed", section: "context_servers", http: plain,
			file: func(home, config string) string {
				if goruntime.GOOS == "windows" {
					return filepath.Join(config, "Zed", "settings.json")
				}
				return filepath.Join(home, ".config", "zed", "settings.json")
			},
		},
		{
			Name: "windsurf", Title: "Windsurf", section: "mcpServers",
			http: func(url string, headers any) any {
				return struct {
					URL     string `json:"serverUrl"`
					Headers any    `json:"headers,omitempty"`
				}{url, headers}
			},
			file: func(home, _ string) string { return filepath.Join(home, ".codeium", "windsurf", "mcp_config.json") },
		},
		{
			Name: "cline", Title: "Cline", section: "mcpServers",
			http: func(url string, headers any) any {
				return struct {
					Type    string `json:"type"`
					URL     string `json:"url"`
					Headers any    `json:"headers,omitempty"`
				}{"streamableHttp", url, headers}
			},
			file: func(_, config string) string {
				return filepath.Join(config, "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")
			},
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

// File returns the path of the client's configuration file.
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

// Files returns the configuration files of all known clients, which plugins must not write.
func Files() []string {
	var files []string
	for _, c := range list() {
		if f, err := c.File(); err == nil {
			files = append(files, f)
		}
	}
	return files
}

// entry returns the server in the client's JSON form.
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
