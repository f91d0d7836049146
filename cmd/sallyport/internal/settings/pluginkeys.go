package settings

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// PluginKey is one key of a plugin's section. A change of any of them applies to the next call.
type PluginKey struct {
	Name    string // dotted, as in the file: limits.memory
	Type    string // a description of its syntax
	Default string // Markdown
	Doc     string // one sentence or more, lower case, Markdown
}

// PluginKeys returns every key of a plugin's section, in the order of the documentation. The reader refuses all others.
func PluginKeys() []PluginKey {
	return []PluginKey{
		{"source", "path", "`NAME.wasm`, or `NAME.json` for an Extism manifest", "the file; a relative path begins at the folder of the configuration file. A file with another spelling of the same name, such as `my-tool.wasm` for `my_tool`, is held until it has a `source`"},
		{"digest", "digest", "the approved bytes", "the only bytes that may serve, `sha256:` and 64 hex digits as `sallyport inspect` prints them; it applies from the first start, also with `--locked` and `dev`"},
		{"disabled", "`true`, `false`", "`false`", "do not load it"},
		{"prefix", "`true`, `false`", "`true`", "publish tools and prompts as `NAME-tool`"},
		{"publish.only", "list", "everything", "the published tools, prompts and resources, by the plugin's own names"},
		{"publish.hide", "list", "nothing", "the unpublished ones; a hidden resource cannot be read through a template either, with any spelling of its URI"},
		{"callers", "rules", "all callers", "the callers that it publishes to: a list of `{who: […], publish: […], scopes: […]}`. `who` holds principals such as `token:ann`, `group:NAME`, `scope:NAME` or `all`; `publish` the entries of `publish.only` for them, by default all. `scopes` are those of a sign-in that a call needs too. To a caller that no rule names, the plugin does not exist. Groups are those of the sign-in and of `groups` at the top of the file"},
		{"limits.memory", "bytes", "the host's", "linear memory of one call"},
		{"limits.deadline", "duration", "the host's", "time of one call"},
		{"limits.task", "duration", "the host's", "time of one run of a task, without its waiting for answers"},
		{"limits.output", "bytes", "the host's", "bytes of one answer"},
		{"limits.concurrency", "count", "the host's", "concurrent calls"},
		{"limits.queue", "count", "the host's", "queued calls"},
		{"limits.wait", "duration", "the host's", "time of a call in the queue"},
		{"limits.rate", "rate", "no limit", "calls per second, of all callers together"},
		{"limits.principal_rate", "rate", "no limit", "calls per second of each caller: a user of this machine, a token, or all callers without one"},
		{"limits.principal_calls", "count", "no limit", "concurrent calls of each caller"},
		{"limits.sent", "bytes", "no limit", "bytes of all requests of one call"},
		{"limits.received", "bytes", "no limit", "bytes of all answers of one call"},
		{"limits.for", "limits", "the same for all callers", "the limits of some callers in place of the plugin's: a list such as `{who: [group:interns], deadline: 5s, memory: 32MiB}`. `who` is that of `callers`, and the keys are those of `limits`; one that an entry leaves out is the plugin's. The first entry that names the caller counts. `concurrency`, `queue` and `rate` are those of the callers of the entry together, within the plugin's; every other limit may exceed it"},
		{"state", "`call`, `fresh`, `session`, `plugin`", "as the plugin asks, or `call`", "lifetime of an instance. `call`: a clean one for each call, copied from a started one. `fresh`: each call starts its own, which takes longer. `session`: one for each session of a client, on stdio, with `Mcp-Session-Id` or with `dev.sallyport/session`, kept for an hour unless `limits.kept` needs its memory, which the next call is told; this is the default of Extism plugins. `plugin`: one for all calls, which only this file grants. A kept instance serves one call at a time, and starts again after a failure; `sallyport list` names the plugins that keep theirs"},
		{"clock", "`real`, `frozen`", "`real`", "`frozen`: the clocks advance only by the plugin's sleeps, which take no time"},
		{"random", "`real`, `seeded`", "`real`", "`seeded`: random numbers are the same in each call"},
		{"learn", "`true`, `false`", "`false`", "`true`: the audit log records the grants that each call needs, for `sallyport learn`"},
		{"record", "days", "nothing is recorded", "for how long, such as `7d` and at most `30d`, its calls are recorded with the host's answers, sealed in the state folder: `sallyport approve` and `update` run them again with new bytes and show what would differ. Its clocks then advance with its host calls only, and the first MiB of an answer is read before the plugin gets it. At most 256 calls and 32 MiB are kept, and no call of more than 1 MiB"},
		{"updates", "`approve`, `same-interface`", "`approve`", "`same-interface`: new bytes serve without an answer if their imports, wants and definitions equal the approved ones, unless they were rejected or replaced before"},
		{"dev", "`true`, `false`", "`false`", "`true`: any bytes of the file serve, under the plugin's grants; for a plugin in development"},
		{"workspace", "path", "the host's", "the folder of `{workspace}`"},
		{"grants", "grants", "nothing", "its permissions"},
		{"max_grants", "grants", "no ceiling", "the upper bound of `grants`: an effect that none of its lines covers is refused, with any grant; also at the top of the file, for all plugins"},
	}
}

// checkKey returns an error unless prefix and the key, or a key below them, are in PluginKeys. also are further known keys.
func checkKey(k *strictyaml.Node, prefix, where string, also ...string) error {
	known := also
	for _, key := range PluginKeys() {
		rest, ok := strings.CutPrefix(key.Name, prefix)
		if name, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	if slices.Contains(known, k.Text) {
		return nil
	}
	return k.Errorf("unknown key %q in %s%s", k.Text, where, strictyaml.Hint(k.Text, known))
}
