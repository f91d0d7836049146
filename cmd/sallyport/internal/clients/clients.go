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

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
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

// dir returns the folder that a launched server serves; "" if it names none.
func (s Server) dir() string {
	if len(s.Args) < 2 || s.Args[0] != "serve" {
		return ""
	}
	return s.Args[1]
}

// Client is one MCP client.
type Client struct {
	Name    string                           // on the command line
	Title   string                           // product name
	section string                           // member of the file that holds the servers
	launch  bool                             // an entry with a command has a type
	toml    bool                             // the file is TOML, else JSON with comments
	remote  remote                           // the form of an entry with a URL; zero if the client only launches servers
	file    func(home, config string) string // config is the user's configuration folder
}

// remote is the form of an entry with a URL.
type remote struct {
	kind         string // value of its member type; "" is no such member
	url, headers string // names of members
}

// list returns the table of clients.
func list() []Client {
	return []Client{
		{
			Name: "claude-desktop", Title: "Claude Desktop", section: "mcpServers",
			file: inConfig("Claude", "claude_desktop_config.json"),
		},
		{
			Name: "claude-code", Title: "Claude Code", section: "mcpServers", launch: true,
			remote: remote{"http", "url", "headers"}, file: inHome(".claude.json"),
		},
		{
			Name: "vscode", Title: "VS Code", section: "servers", launch: true,
			remote: remote{"http", "url", "headers"}, file: inConfig("Code", "User", "mcp.json"),
		},
		{
			Name: "cursor", Title: "Cursor", section: "mcpServers",
			remote: remote{"", "url", "headers"}, file: inHome(".cursor", "mcp.json"),
		},
		{
			Name: "gemini", Title: "Gemini CLI", section: "mcpServers",
			remote: remote{"", "httpUrl", "headers"}, file: inHome(".gemini", "settings.json"),
		},
		{
			Name: "codex", Title: "Codex", section: "mcp_servers", toml: true,
			remote: remote{"", "url", "http_headers"}, file: inHome(".codex", "config.toml"),
		},
		{
			Name: "zed", Title: "Zed", section: "context_servers",
			remote: remote{"", "url", "headers"}, file: zedFile,
		},
		{
			Name: "windsurf", Title: "Windsurf", section: "mcpServers",
			remote: remote{"", "serverUrl", "headers"}, file: inHome(".codeium", "windsurf", "mcp_config.json"),
		},
		{
			Name: "cline", Title: "Cline", section: "mcpServers",
			remote: remote{"streamableHttp", "url", "headers"},
			file:   inConfig("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
		},
	}
}

func inHome(names ...string) func(home, config string) string {
	return func(home, _ string) string { return filepath.Join(append([]string{home}, names...)...) }
}

func inConfig(names ...string) func(home, config string) string {
	return func(_, config string) string { return filepath.Join(append([]string{config}, names...)...) }
}

func zedFile(home, config string) string {
	if goruntime.GOOS == "windows" {
		return filepath.Join(config, "Zed", "settings.json")
	}
	return filepath.Join(home, ".config", "zed", "settings.json")
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

// Installed reports whether this user seems to have the client: its file is there, or a folder of its own for it.
func (c Client) Installed() bool {
	file, err := c.File()
	if err != nil {
		return false
	}
	if _, err := os.Stat(file); err == nil {
		return true
	}
	folder := filepath.Dir(file)
	home, err := os.UserHomeDir()
	_, missing := os.Stat(folder)
	return err == nil && missing == nil && folder != filepath.Clean(home)
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
	if c.remote == (remote{}) {
		return nil, fmt.Errorf("%s launches its servers; leave --http out", c.Name)
	}
	return c.remote.entry(s)
}

func (r remote) entry(s Server) (json.RawMessage, error) {
	var o jsonraw.Object
	if r.kind != "" {
		o.Set("type", jsonraw.AppendString(nil, r.kind))
	}
	o.Set(r.url, jsonraw.AppendString(nil, s.URL))
	if s.Token != "" {
		headers, err := json.Marshal(map[string]string{"Authorization": "Bearer " + s.Token})
		if err != nil {
			return nil, err
		}
		o.Set(r.headers, headers)
	}
	return o.Append(nil), nil
}
