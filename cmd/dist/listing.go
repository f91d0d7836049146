package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// formulaText is the formula of Homebrew.
var formulaText = template.Must(template.New("").Parse(`class Sallyport < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "{{.License}}"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Processor}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "sallyport", "sallyport-sigstore"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/sallyport.bash" => "sallyport"
    zsh_completion.install "completions/_sallyport"
    fish_completion.install "completions/sallyport.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sallyport --version")
  end
end
`))

// formula returns the formula of Homebrew, which installs the archives of macOS and Linux.
func formula(r *release, files []artefact) ([]artefact, error) {
	type archive struct{ Processor, URL, Sum string }
	type system struct {
		Name     string
		Archives []archive
	}
	var systems []system
	for _, s := range []struct{ os, name string }{{"darwin", "macos"}, {"linux", "linux"}} {
		one := system{Name: s.name}
		for _, p := range r.programs {
			if p.os == s.os {
				one.Archives = append(one.Archives, archive{map[string]string{"amd64": "intel", "arm64": "arm"}[p.arch], r.version.downloads() + p.archive(), sumOf(files, p.archive())})
			}
		}
		if one.Archives != nil {
			systems = append(systems, one)
		}
	}
	var out bytes.Buffer
	err := formulaText.Execute(&out, map[string]any{"Summary": summary, "Homepage": homepage, "Version": r.version.semantic(), "License": licence, "Systems": systems})
	return []artefact{{"sallyport.rb", out.Bytes()}}, err
}

// registryServer is the entry of the registry of MCP servers (server.json, schema of 2025-12-11).
type registryServer struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Repository  map[string]string `json:"repository"`
	Version     string            `json:"version"`
	Packages    []registryPackage `json:"packages"`
}

// registryPackage is one way to get the server.
type registryPackage struct {
	Type       string             `json:"registryType"`
	Identifier string             `json:"identifier"`
	Version    string             `json:"version,omitempty"`
	Sum        string             `json:"fileSha256,omitempty"`
	Transport  map[string]string  `json:"transport"`
	Arguments  []registryArgument `json:"packageArguments,omitempty"`
}

// registryArgument is an argument of the command line.
type registryArgument struct {
	Type        string `json:"type"`
	Value       string `json:"value,omitempty"`
	Hint        string `json:"valueHint,omitempty"`
	Description string `json:"description,omitempty"`
	Format      string `json:"format,omitempty"`
	Required    bool   `json:"isRequired,omitempty"`
}

// registryEntry returns the entry of the registry of MCP servers.
func registryEntry(r *release, files []artefact) ([]artefact, error) {
	stdio := map[string]string{"type": "stdio"}
	arguments := []registryArgument{
		{Type: "positional", Value: "serve"},
		{Type: "positional", Hint: "plugins", Description: "The folder of plugins", Format: "filepath", Required: true},
	}
	packages := []registryPackage{
		{Type: "npm", Identifier: "sallyport", Version: r.version.semantic(), Transport: stdio, Arguments: arguments},
		{Type: "pypi", Identifier: "sallyport", Version: r.version.python(), Transport: stdio, Arguments: arguments},
	}
	for _, f := range files {
		if strings.HasSuffix(f.name, ".mcpb") {
			packages = append(packages, registryPackage{Type: "mcpb", Identifier: r.version.downloads() + f.name, Sum: sumOf(files, f.name), Transport: stdio})
		}
	}
	raw, err := indented(registryServer{
		Schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", Name: serverName, Title: "Sallyport", Description: summary,
		Repository: map[string]string{"url": homepage, "source": "github"}, Version: r.version.semantic(), Packages: packages,
	})
	return []artefact{{"server.json", raw}}, err
}

// sumOf returns the SHA-256 of a file of the release, in hexadecimal digits.
func sumOf(files []artefact, name string) string {
	i := slices.IndexFunc(files, func(f artefact) bool { return f.name == name })
	if i < 0 {
		panic(fmt.Sprintf("dist: there is no file %s", name))
	}
	sum := sha256.Sum256(files[i].content)
	return hex.EncodeToString(sum[:])
}
