package hypermcp

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// plugin is the section of one plugin in the new configuration.
type plugin struct {
	*turned
	name   string
	where  string // its key in remarks
	source string
	absent bool   // source has to be saved by the operator
	added  bool   // by sallyport add, into the plugin folder
	off    string // reason for disabled, "" if enabled
	memory string
	hide   []string
	grants []string
}

// plugin converts one plugin and writes its section.
func (t *turned) plugin(name string, n grant.Node) error {
	p := &plugin{turned: t, name: name, where: "plugins." + name}
	if manifest.CheckName(name) != nil {
		made, err := manifest.NameOfFile(name + ".wasm")
		if err != nil {
			return &grant.ParseError{Line: n.Line, Message: err.Error()}
		}
		p.name = made
		t.remark(n, "%s: is called %s here", p.where, made)
	}
	if t.names[p.name] {
		return &grant.ParseError{Line: n.Line, Message: fmt.Sprintf("two plugins would be called %q", p.name)}
	}
	t.names[p.name] = true
	for _, m := range n.Nodes {
		switch m.Key {
		case "url", "path":
			p.place(m)
		case "name", "runtime_config":
		default:
			t.remark(m, "%s.%s: not known, not carried over", p.where, m.Key)
		}
	}
	if p.source == "" {
		return &grant.ParseError{Line: n.Line, Message: fmt.Sprintf("plugin %q has no url", name)}
	}
	p.runtime(member(n, "runtime_config"))
	p.write()
	return nil
}

// place reads the location of the module. A remote module is not fetched here: the plugin is disabled until the operator
// adds it, or saves its file.
func (p *plugin) place(n grant.Node) {
	u, err := url.Parse(n.Value)
	switch {
	case err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost"):
		p.source = filepath.FromSlash(withoutDriveSlash(u.Path))
	case err == nil && u.Scheme == "file":
		p.source, p.off, p.absent = "./"+p.name+".wasm", "its address names a machine and no file", true
		p.remark(n, "%s.%s: %.200s names the machine %.80q: write file:///PATH, or save the module as %s.wasm beside the new file, and remove the line disabled",
			p.where, n.Key, n.Value, u.Host, p.name)
	case err == nil && (u.Scheme == "oci" || u.Scheme == "https"):
		add := "sallyport add " + settings.Quoted(n.Value) + " --name " + p.name
		p.source, p.off, p.absent, p.added = "./"+p.name+".wasm", "until sallyport add installed it", true, true
		p.remark(n, "%s.%s: %.200s is not fetched here: %s shows and installs it; then remove the line disabled", p.where, n.Key, n.Value, add)
	case err == nil && len(u.Scheme) > 1:
		p.source = "./" + p.name + ".wasm"
		p.off, p.absent = "save the module there first", true
		p.remark(n, "%s.%s: %.200s is not fetched: save the module as %s.wasm beside the new file, look at it with sallyport inspect, and remove the line disabled",
			p.where, n.Key, n.Value, p.name)
	default:
		p.source = n.Value
	}
	if !p.absent && !filepath.IsAbs(p.source) {
		p.source = filepath.Join(p.Dir, p.source)
		p.remark(n, "%s.%s: taken to be %s", p.where, n.Key, p.source)
	}
}

// withoutDriveSlash removes the slash in front of a Windows drive, as in file:///C:/x.
func withoutDriveSlash(path string) string {
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}

// runtime converts runtime_config. The source must be known.
func (p *plugin) runtime(n grant.Node) {
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

// methods are the HTTP methods that hyper-mcp allowed a plugin.
const methods = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS"

func (p *plugin) hosts(n grant.Node, where string) {
	for _, host := range p.texts(n, where) {
		line, err := extismfile.HostGrant(methods, host.Value)
		if err != nil {
			p.remark(host, "%s: %.200s is not carried over: %v", where, host.Value, err)
			continue
		}
		p.grants = append(p.grants, line)
		more := "to https on its usual port, and redirects are followed to granted hosts only"
		if strings.Contains(host.Value, "*") {
			more += "; wildcards reach no private or loopback address"
		}
		p.remark(host, "%s: %.200s is narrowed %s", where, host.Value, more)
	}
}

func (p *plugin) paths(n grant.Node, where string) {
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
		p.grants = append(p.grants, line)
		p.remark(e, "%s: %.200s is narrowed: links that lead out of it are not followed, and keys and start-up files in it need a line of their own", where, e.Value)
	}
}

// values converts environment variables, which hyper-mcp plugins read as configuration.
func (p *plugin) values(n grant.Node, where string) {
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
	for _, key := range keysOf(values) {
		parts = append(parts, quoted(key)+": "+quoted(values[key]))
	}
	if len(parts) > 0 {
		p.grants = append(p.grants, "config: {"+strings.Join(parts, ", ")+"}")
	}
}

// sizes matches memory_limit: 512Mi, 256MB, 1.5GiB.
var sizes = regexp.MustCompile(`(?i)^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*$`)

func (p *plugin) limit(n grant.Node, where string) {
	if null(n) {
		return
	}
	m := sizes.FindStringSubmatch(n.Value)
	if m == nil {
		p.remark(n, "%s: %.80q is not a size, not carried over: 64MiB hold", where, n.Value)
		return
	}
	number, _ := strconv.ParseFloat(m[1], 64)
	step := 1000.0
	if m[3] != "" {
		step = 1024
	}
	for range strings.Index(" kmgt", strings.ToLower(cmp.Or(m[2], " "))) {
		number *= step
	}
	const most = 4 << 30
	if number > most {
		p.remark(n, "%s: narrowed to 4GiB, which is all that a module can address", where)
		number = most
	}
	p.memory = strconv.FormatInt(max(int64(number), 1), 10) + "B"
	if bytes := int64(number); bytes >= 1<<20 && bytes%(1<<20) == 0 {
		p.memory = strconv.FormatInt(bytes>>20, 10) + "MiB"
	}
}

// quoted returns a text as a double-quoted YAML scalar.
func quoted(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }

// write writes the plugin's section.
func (p *plugin) write() {
	line := func(depth int, format string, args ...any) {
		p.text.WriteString(strings.Repeat("  ", depth) + fmt.Sprintf(format, args...) + "\n")
	}
	line(1, "%s:", p.name)
	if !p.added {
		line(2, "source: %s", quoted(p.source))
	}
	if p.off != "" {
		line(2, "disabled: true # %s", p.off)
	}
	if p.memory != "" {
		line(2, "limits: {memory: %s}", p.memory)
	}
	if len(p.hide) > 0 {
		line(2, "publish:")
		line(3, "hide:")
		for _, name := range p.hide {
			line(4, "- %s", quoted(name))
		}
	}
	if len(p.grants) > 0 {
		line(2, "grants:")
	}
	for _, g := range p.grants {
		family, rest, _ := strings.Cut(g, ": ")
		if family == "config" {
			line(3, "- config: %s", rest)
		} else {
			line(3, "- %s", quoted(g))
		}
	}
}
