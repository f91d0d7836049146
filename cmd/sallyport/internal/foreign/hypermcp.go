package foreign

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// HyperMCP reads a configuration of hyper-mcp, whose relative paths begin at dir. Remarks are those about the whole
// configuration. It returns a *grant.ParseError with the line at fault, or if there are no plugins.
func HyperMCP(root grant.Node, dir string) (all []*Plugin, remarks []Remark, err error) {
	var signer Signer
	whole := &Plugin{}
	for _, n := range root.Nodes {
		switch n.Key {
		case "plugins":
			all, err = hyperPlugins(n, dir)
		case "auths":
			whole.remark(n, "auths: not carried over: no login is sent for https://; save such a module, and name it by its path. Registries take those of docker login")
		case "oci":
			signer = whole.oci(n)
		case "dynamic_loading":
			whole.remark(n, "dynamic_loading: not carried over: no tool that is published here loads plugins")
		default:
			whole.remark(n, "%s: not known, not carried over", n.Key)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(all) == 0 {
		return nil, nil, &grant.ParseError{Line: 1, Message: "the configuration has no plugins"}
	}
	for _, p := range all {
		if strings.HasPrefix(strings.ToLower(p.Source), "oci://") {
			p.Signer = signer
		}
	}
	return all, whole.Remarks, nil
}

// oci reads the requirement of signatures. One that names no identity is met by a signature of anybody, and requires
// nothing here.
func (p *Plugin) oci(n grant.Node) (s Signer) {
	skip := false
	for _, m := range n.Nodes {
		switch m.Key {
		case "cert_issuer":
			s.Issuer = m.Value
		case "cert_email", "cert_url":
			s.Identity = m.Value
		case "insecure_skip_signature":
			skip = m.Value == "true"
		case "fulcio_certs", "rekor_pub_keys":
			if !null(m) {
				p.remark(m, "oci.%s: not carried over: trusted_root names the root of a private sigstore", m.Key)
			}
		case "use_sigstore_tuf_data":
		default:
			p.remark(m, "oci.%s: not known, not carried over", m.Key)
		}
	}
	if skip || s.Issuer == "" || s.Identity == "" {
		p.remark(n, "oci: no identity is required of a signature here; sources: of the configuration can require one of each source")
		return Signer{}
	}
	return s
}

// hyperPlugins reads the map of plugins, or the list of older versions.
func hyperPlugins(n grant.Node, dir string) (all []*Plugin, err error) {
	if n.Kind == grant.Scalar {
		return nil, &grant.ParseError{Line: n.Line, Message: "plugins: want a map of names to settings"}
	}
	if len(n.Nodes) > maxPlugins {
		return nil, &grant.ParseError{Line: n.Line, Message: fmt.Sprintf("the configuration has %d plugins, and at most %d are read: divide it", len(n.Nodes), maxPlugins)}
	}
	names := map[string]bool{}
	for _, m := range n.Nodes {
		name := m.Key
		if n.Kind == grant.List {
			name = member(m, "name").Value
		}
		if m.Kind != grant.Map || name == "" || len(name) > maxName {
			return nil, &grant.ParseError{Line: m.Line, Message: fmt.Sprintf("a plugin has a name of at most %d bytes and a url", maxName)}
		}
		p := &Plugin{Name: name, Line: m.Line, where: "plugins." + name}
		here, err := manifest.NameOfFile(name + ".wasm")
		if err != nil {
			return nil, &grant.ParseError{Line: m.Line, Message: err.Error()}
		}
		if here = strings.ToLower(here); names[here] {
			return nil, &grant.ParseError{Line: m.Line, Message: fmt.Sprintf("two plugins would be called %q", here)}
		}
		names[here] = true
		if err := p.hyper(m, dir); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// hyper reads one plugin.
func (p *Plugin) hyper(n grant.Node, dir string) error {
	for _, m := range n.Nodes {
		switch m.Key {
		case "url", "path":
			p.place(m, dir)
		case "name":
		case "runtime_config":
			p.runtime(m)
		default:
			p.remark(m, "%s.%s: not known, not carried over", p.where, m.Key)
		}
	}
	if len(p.Grants) > maxGrants {
		p.fail(n, "it has %d hosts and paths, and at most %d are asked about: use wildcards", len(p.Grants), maxGrants)
	}
	if p.Source == "" && p.Err == nil {
		return &grant.ParseError{Line: n.Line, Message: fmt.Sprintf("plugin %q has no url", p.Name)}
	}
	return nil
}

// place reads the location of the module.
func (p *Plugin) place(n grant.Node, dir string) {
	scheme, _, remote := strings.Cut(n.Value, "://")
	file, opaque := strings.CutPrefix(n.Value, "file:/")
	switch {
	case remote && strings.EqualFold(scheme, "s3"):
		p.fail(n, "%.200s: s3 is not read here: save the module, and write url: file:///PATH in its place", n.Value)
	case strings.HasPrefix(strings.ReplaceAll(n.Value, `\`, "/"), "//"):
		p.fail(n, "%.200s: a share of another machine, which Windows would log in to: save the module here", n.Value)
	case remote:
		p.Source = n.Value
	case opaque:
		p.Source = "file:///" + file
	case n.Value == "" || filepath.IsAbs(n.Value):
		p.Source = n.Value
	default:
		p.Source = filepath.Join(dir, n.Value)
		p.remark(n, "%s.%s: taken to be %s", p.where, n.Key, p.Source)
	}
}

// runtime reads runtime_config.
func (p *Plugin) runtime(n grant.Node) {
	for _, m := range n.Nodes {
		where := p.where + ".runtime_config." + m.Key
		switch m.Key {
		case "allowed_hosts":
			p.hosts(m, where)
		case "allowed_paths":
			p.paths(m, where)
		case "env_vars":
			p.values(m, where)
		case "memory_limit":
			p.limit(m, where)
		case "skip_tools", "skip_prompts", "skip_resources", "skip_resource_templates":
			p.skip(m, where)
		case "allowed_secrets":
			if !null(m) {
				p.remark(m, "%s: not carried over: grant each entry with the addresses that may receive it, as secret: NAME {from: keyring SERVICE/USER, to: https://HOST/**}", where)
			}
		default:
			p.remark(m, "%s: not known, not carried over", where)
		}
	}
}

// methods are the HTTP methods that the other hosts allow a plugin.
const methods = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS"

func (p *Plugin) hosts(n grant.Node, where string) {
	for _, host := range p.texts(n, where) {
		line, err := extismfile.HostGrant(methods, host.Value)
		if err != nil {
			p.remark(host, "%s: %.200s is not carried over: %v", where, host.Value, err)
			continue
		}
		more := ""
		if strings.Contains(host.Value, "*") {
			more = "; wildcards reach no private or loopback address"
		}
		p.allow(line, "allowed_hosts has %.200s; narrowed to https on its usual port, and to redirects to granted hosts%s", host.Value, more)
	}
}

func (p *Plugin) paths(n grant.Node, where string) {
	for _, e := range p.texts(n, where) {
		place, guest, _ := strings.Cut(e.Value, ":")
		if place == "ro" {
			rest, to, _ := strings.Cut(guest, ":")
			place, guest = "ro:"+rest, to
		}
		line, err := extismfile.PathGrant(strings.TrimSpace(place), strings.TrimSpace(guest))
		if err != nil {
			p.remark(e, "%s: %.200s is not carried over: %v", where, e.Value, err)
			continue
		}
		p.allow(line, "allowed_paths has %.200s; narrowed: links that lead out of it are not followed, and keys and start-up files in it need a line of their own", e.Value)
	}
}

// values reads environment variables, which hyper-mcp plugins take as configuration.
func (p *Plugin) values(n grant.Node, where string) {
	values := map[string]string{}
	for _, m := range n.Nodes {
		if m.Null {
			p.remark(m, "%s.%s: not carried over: it has no value", where, m.Key)
			continue
		}
		if problem := grant.CheckConfig(m.Key, m.Value); problem != "" || m.Kind != grant.Scalar {
			p.remark(m, "%s.%s: not carried over: %s", where, m.Key, problem)
			continue
		}
		if strings.Contains(m.Value, "${") {
			p.remark(m, "%s.%s: taken as it is written: nothing of the environment is put in", where, m.Key)
		}
		values[m.Key] = m.Value
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, quoted(key)+": "+quoted(values[key]))
	}
	if len(parts) > 0 {
		p.allow("config: {"+strings.Join(parts, ", ")+"}", "env_vars; the configuration keeps the values as they are: secret: is for keys")
	}
}

// quoted returns a text as a double-quoted YAML scalar.
func quoted(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }
