package hostfuncs

import (
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// workDir is every guest's working directory, granted or not, so that programs resolve relative paths the same
// everywhere.
const workDir = "/" + grant.Workspace

// Config returns one value of the plugin's configuration and whether it exists, for ABIs without an
// environment.
func (g *Gate) Config(name string) (string, bool) {
	if value, ok := g.policy.plugin.Config[name]; ok {
		return value, true
	}
	if value, ok := g.policy.secrets[name]; ok {
		return value, true
	}
	value, ok := g.policy.plugin.Grants.Lines().Config()[name]
	return value, ok
}

// environment returns a guest's environment: its configuration and PWD, and no variable of the host's environment. It
// is sorted, and the same for each call.
func (p *Policy) environment() []string {
	values := p.plugin.Grants.Lines().Config()
	p.secrets = p.configured()
	maps.Copy(values, p.secrets)
	maps.Copy(values, p.plugin.Config)
	env := []string{"PWD=" + workDir}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if problem := grant.CheckConfig(name, values[name]); problem != "" {
			p.host.options.Logger.Warn(problem, "plugin", p.plugin.Name)
			continue
		}
		env = append(env, name+"="+values[name])
	}
	return env
}
