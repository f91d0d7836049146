package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
)

// policySuffix is added to the name of a component for the file of its policy, beside it.
const policySuffix = ".policy.yaml"

// Policies reads a policy file of Wassette.
type Policies func(file string) (grant.Node, error)

// Wassette returns the components of a folder of Wassette, NAME.wasm each, with their policies. For a source that is no
// folder it returns one component of that name, and reads the policy file, if there is one.
func Wassette(from, policy string, read Policies) ([]*Plugin, error) {
	if strings.Contains(from, "://") {
		p := &Plugin{Name: stem(from), Source: from, where: "permissions"}
		return []*Plugin{p}, p.policyFile(policy, "", read)
	}
	from, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		p := &Plugin{Name: stem(filepath.ToSlash(from)), Source: from, where: "permissions"}
		return []*Plugin{p}, p.policyFile(cmp.Or(policy, besidePolicy(from)), filepath.Dir(from), read)
	}
	if policy != "" {
		return nil, errors.New("a folder has a policy beside each component: --policy is for one component")
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var all []*Plugin
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".wasm")
		if !is || name == "" || e.IsDir() {
			continue
		}
		file := filepath.Join(from, e.Name())
		p := &Plugin{Name: name, Source: file, where: "permissions"}
		if p.Err = p.policyFile(besidePolicy(file), from, read); len(p.Grants) > maxGrants {
			p.Err = fmt.Errorf("its policy has %d entries, and at most %d are asked about", len(p.Grants), maxGrants)
		}
		if all = append(all, p); len(all) > maxPlugins {
			return nil, fmt.Errorf("%s has over %d components: import them one by one", from, maxPlugins)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no component: want NAME.wasm, and its policy NAME%s", from, policySuffix)
	}
	return all, nil
}

// besidePolicy returns the policy file beside a component; "" if there is none.
func besidePolicy(component string) string {
	file := strings.TrimSuffix(component, ".wasm") + policySuffix
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return file
}

// stem returns the name of a component by its source, without tag and digest.
func stem(from string) string {
	from, _, _ = strings.Cut(from, "@")
	from = from[strings.LastIndexByte(from, '/')+1:]
	if i := strings.LastIndexByte(from, ':'); i > 0 {
		from = from[:i]
	}
	return strings.TrimSuffix(from, ".wasm")
}

// policyFile reads the policy of a component; no file allows nothing.
func (p *Plugin) policyFile(file, dir string, read Policies) error {
	if file == "" {
		return nil
	}
	p.File = file
	if info, err := os.Stat(file); err != nil {
		return err
	} else if !info.Mode().IsRegular() { // opening a pipe would block
		return fmt.Errorf("the policy %s is not a regular file", file)
	}
	root, err := read(file)
	if err != nil {
		return err
	}
	for _, n := range root.Nodes {
		switch n.Key {
		case "version", "description":
		case "permissions":
			p.permissions(n, dir)
		default:
			p.remark(n, "%s: not known, not carried over", n.Key)
		}
	}
	return nil
}

func (p *Plugin) permissions(n grant.Node, dir string) {
	for _, m := range n.Nodes {
		where := p.where + "." + m.Key
		switch m.Key {
		case "storage":
			p.lists(m, where, func(e grant.Node, where string, deny bool) { p.storage(e, where, dir, deny) })
		case "network":
			p.lists(m, where, p.network)
		case "environment":
			p.lists(m, where, p.environment)
		case "resources":
			p.resources(m, where)
		default:
			p.remark(m, "%s: not carried over: no plugin has it here", where)
		}
	}
}

// lists reads the lists allow and deny of a kind of permissions.
func (p *Plugin) lists(n grant.Node, where string, read func(e grant.Node, where string, deny bool)) {
	for _, list := range n.Nodes {
		at := where + "." + list.Key
		switch {
		case list.Key != "allow" && list.Key != "deny":
			p.remark(list, "%s: not known, not carried over", at)
			continue
		case list.Kind != grant.List && !null(list):
			p.remark(list, "%s: not a list, not carried over", at)
			continue
		}
		for _, e := range list.Nodes {
			read(e, at, list.Key == "deny")
		}
	}
}

// rule adds a line that allows or denies.
func (p *Plugin) rule(line string, deny bool, why string, args ...any) {
	if deny {
		line = "deny: " + quoted(line)
	}
	p.allow(line, why, args...)
}

// storage reads a permission for files: fs:// and a path, which begins at the folder of the components unless it is
// absolute.
func (p *Plugin) storage(e grant.Node, where, dir string, deny bool) {
	uri := member(e, "uri").Value
	place, is := strings.CutPrefix(uri, "fs://")
	place = strings.TrimSuffix(place, "/**")
	if !is || strings.Contains(place, "*") {
		p.remark(e, "%s: %.200q is not carried over: want fs:// and a path, with no star but /** at its end", where, uri)
		return
	}
	more := ""
	if !filepath.IsAbs(place) && dir != "" {
		place = filepath.Join(dir, place)
		more = ", which is " + place + ", the path that the plugin has to use here"
	}
	access := p.texts(member(e, "access"), where)
	writes := slices.ContainsFunc(access, func(n grant.Node) bool { return n.Value == "write" })
	reads := slices.ContainsFunc(access, func(n grant.Node) bool { return n.Value == "read" })
	switch {
	case !reads && !writes:
		p.remark(e, "%s: %.200q is not carried over: its access names neither read nor write", where, uri)
		return
	case !reads && !deny:
		more += "; wider: a line that allows to write allows to read"
	case !writes, deny && reads:
		place = "ro:" + place // to deny reading denies writing
	}
	line, err := extismfile.PathGrant(place, "")
	if err != nil {
		p.remark(e, "%s: %.200q is not carried over: %v", where, uri, err)
		return
	}
	p.rule(line, deny, "%s has %.200s%s", where, uri, more)
}

// network reads a permission for a host, which may be written as an address.
func (p *Plugin) network(e grant.Node, where string, deny bool) {
	host := member(e, "host").Value
	if cidr := member(e, "cidr").Value; host == "" {
		p.remark(e, "%s: %.80q is not carried over: a line names hosts, and no range of addresses", where, cidr)
		return
	}
	name := host
	if strings.Contains(host, "://") {
		u, err := url.Parse(host)
		if err != nil || u.Hostname() == "" {
			p.remark(e, "%s: %.200q is not carried over: it names no host", where, host)
			return
		}
		name = u.Hostname()
	}
	line, err := extismfile.HostGrant(methods, name)
	if err != nil {
		p.remark(e, "%s: %.200q is not carried over: %v", where, host, err)
		return
	}
	p.rule(line, deny, "%s has %.200s; narrowed to https on its usual port", where, host)
}

// environment reads a permission for a variable. Its value was that of Wassette's own environment.
func (p *Plugin) environment(e grant.Node, where string, _ bool) {
	p.remark(e, "%[1]s: %.80[2]s is not carried over: config: {%.80[2]s: VALUE} gives the value, or for a key config: {%.80[2]s: {secret: %.80[2]s}} with secret: %.80[2]s {from: env %.80[2]s, to: https://HOST/**}",
		where, member(e, "key").Value)
}

// resources reads the limits.
func (p *Plugin) resources(n grant.Node, where string) {
	for _, m := range n.Nodes {
		memory := member(m, "memory")
		if m.Key != "limits" || memory.Line == 0 {
			p.remark(m, "%s.%s: not carried over: limits: of the plugin's section bound it", where, m.Key)
			continue
		}
		p.limit(memory, where+".limits.memory")
		if len(m.Nodes) > 1 {
			p.remark(m, "%s.limits: only the memory is carried over", where)
		}
	}
}
