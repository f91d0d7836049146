package main

// bundleManifest is the manifest.json of a bundle for desktop clients (MCPB 0.3).
type bundleManifest struct {
	Manifest    string              `json:"manifest_version"`
	Name        string              `json:"name"`
	DisplayName string              `json:"display_name"`
	Version     string              `json:"version"`
	Description string              `json:"description"`
	Long        string              `json:"long_description"`
	Author      map[string]string   `json:"author"`
	Homepage    string              `json:"homepage"`
	License     string              `json:"license"`
	Server      bundleServer        `json:"server"`
	Settings    map[string]setting  `json:"user_config"`
	Works       map[string][]string `json:"compatibility"`
	Generated   bool                `json:"tools_generated"`
}

// bundleServer is the program of a bundle.
type bundleServer struct {
	Type    string        `json:"type"`
	Program string        `json:"entry_point"`
	Launch  bundleCommand `json:"mcp_config"`
}

// bundleCommand is the command line that a client runs.
type bundleCommand struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// setting is a value that the client asks its user for.
type setting struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Default     string `json:"default"`
}

// bundles returns a bundle for each program: a client installs it with a click, and asks for the folder of plugins.
func bundles(r *release) (files []artefact, err error) {
	for _, p := range r.programs {
		system, _ := p.npm()
		manifest, err := indented(bundleManifest{
			Manifest: "0.3", Name: "sallyport", DisplayName: "Sallyport", Version: r.version.semantic(), Description: summary, Long: details,
			Author: map[string]string{"name": maintainer}, Homepage: homepage, License: licence,
			Server: bundleServer{"binary", "server/" + p.program(), bundleCommand{"${__dirname}/server/" + p.program(), []string{"serve", "${user_config.plugins}"}}},
			Settings: map[string]setting{"plugins": {"directory", "Folder of plugins",
				"Every .wasm file, script and server in it is served. None of them has access to files, the network or secrets without your grant.", true, "${HOME}/plugins"}},
			Works: map[string][]string{"platforms": {system}}, Generated: true,
		})
		if err != nil {
			return nil, err
		}
		members := []member{{name: "manifest.json", mode: 0o644, content: manifest}, {name: "server/" + p.program(), mode: 0o755, content: p.content}}
		for _, d := range r.docs {
			if d.name == "LICENSE" || d.name == "README.md" {
				members = append(members, d)
			}
		}
		content, err := zipped(members, r.at)
		if err != nil {
			return nil, err
		}
		files = append(files, artefact{"sallyport_" + p.String() + ".mcpb", content})
	}
	return files, nil
}
