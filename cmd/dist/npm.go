package main

import _ "embed"

// launcher is the program of the npm package: it starts the program of the package for this system.
//
//go:embed files/launch.js
var launcher []byte

// npmManifest is a package.json.
type npmManifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage"`
	Repository   string            `json:"repository"`
	ServerName   string            `json:"mcpName,omitempty"` // by which the registry of MCP servers verifies the owner
	Bin          map[string]string `json:"bin,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
}

// npmPackages returns a package for each system with its program, and one that depends on all of them, of which npm
// installs the one for its system. No script runs at the installation.
func npmPackages(r *release) (files []artefact, err error) {
	optional := map[string]string{}
	for _, p := range r.programs {
		system, processor := p.npm()
		name := "@sallyport-mcp/" + system + "-" + processor
		optional[name] = r.version.semantic()
		m := r.npmManifest(name)
		m.OS, m.CPU, m.PreferUnplug = []string{system}, []string{processor}, true
		file, err := r.npmPackage("sallyport-"+system+"-"+processor, m, p.executables("package/")...)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	m := r.npmManifest("sallyport")
	m.ServerName, m.Optional = serverName, optional
	m.Bin, m.Engines = map[string]string{"sallyport": "launch.js"}, map[string]string{"node": ">=18"}
	file, err := r.npmPackage("sallyport", m, member{name: "package/launch.js", mode: 0o755, content: launcher})
	return append(files, file), err
}

func (r *release) npmManifest(name string) npmManifest {
	return npmManifest{Name: name, Version: r.version.semantic(), Description: summary, License: licence, Homepage: homepage, Repository: "git+" + homepage + ".git"}
}

// npmPackage returns a package with the documents of the release.
func (r *release) npmPackage(file string, m npmManifest, programs ...member) (artefact, error) {
	manifest, err := indented(m)
	if err != nil {
		return artefact{}, err
	}
	members := append([]member{{name: "package/package.json", mode: 0o644, content: manifest}}, programs...)
	for _, d := range r.docs {
		if d.name == "LICENSE" || d.name == "README.md" {
			d.name = "package/" + d.name
			members = append(members, d)
		}
	}
	content, err := tarball(members, r.at)
	return artefact{"npm-" + file + "-" + r.version.semantic() + ".tgz", content}, err
}

// npm returns the names by which Node.js knows a system and its processor.
func (t target) npm() (system, processor string) {
	system, processor = t.os, t.arch
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system, processor
}
