package settings

import "strings"

// Kind is the syntax of a setting's text.
type Kind string

// The kinds of settings.
const (
	Text     Kind = "text"
	Path     Kind = "path"     // "~/" is the home folder; relative to the working directory
	Bool     Kind = "bool"     // true or false
	Count    Kind = "count"    // a whole number above zero
	Bytes    Kind = "bytes"    // 64MiB, 256KiB
	Duration Kind = "duration" // 30s, 5m
	Level    Kind = "level"    // a log level
	Receipt  Kind = "receipt"  // counts or full
	Ask      Kind = "ask"      // off, refuse or wait
	Trace    Kind = "trace"    // off, parent, state or baggage
	Keep     Kind = "keep"     // 90d, 1GiB, or both: 90d,1GiB
	List     Kind = "list"     // several texts; separated by commas in a flag or a variable
)

// Key is one host setting.
type Key struct {
	Name    string // dotted, as in the file: http.addr
	Kind    Kind
	Default string // as in the file; "" is unset
	Flag    string // its flag of serve, "" for none
	Doc     string // one sentence, lower case
}

// envPrefix is the prefix of the variables of settings.
const envPrefix = "SALLYPORT_"

// Env returns the variable that sets the key: SALLYPORT_HTTP_ADDR for http.addr.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Keys returns every host setting, in the order of the documentation.
func Keys() []Key {
	return []Key{
		{"dir", Path, "", "", "the plugin folder; unset is plugins beside the configuration file"},
		{"state", Path, "", "state", "where tokens, caches and the log are kept; unset is the user's state folder"},
		{"lock", Path, "", "lock", "the lock file: which bytes of each plugin were approved; unset is one in the state folder, for all plugin folders"},
		{"locked", Bool, "false", "locked", "serve nothing that is not in the lock file; false trusts what is seen first"},
		{"state_keys", Path, "", "", "file of keys for calls that wait for an answer, shared by hosts behind one address; unset is a key in the state folder; a call goes on only for the token that began it, so hosts that share keys share their tokens too"},
		{"workspace", Path, "", "", "the folder that {workspace} stands for in grants; plugins see it as /workspace"},
		{"search", Bool, "false", "search", "list two tools, sallyport-search and sallyport-call, in place of all"},
		{"http.addr", Text, "", "http", "serve streamable HTTP on this host:port or unix:/path; unset is stdio"},
		{"http.path", Text, "/mcp", "", "the path of the endpoint"},
		{"http.origins", List, "", "", "web origins that may call, beside local ones on loopback"},
		{"http.tokens", Path, "", "", "file of named, hashed bearer tokens; unset is tokens in the state folder"},
		{"http.no_token", Bool, "false", "no-token", "answer without a token; loopback and unix sockets only"},
		{"http.tls_cert", Path, "", "tls-cert", "certificate chain, PEM"},
		{"http.tls_key", Path, "", "tls-key", "private key, PEM"},
		{"http.behind_proxy", Bool, "false", "behind-proxy", "a proxy in front ends TLS"},
		{"http.legacy_sse", Bool, "false", "legacy-sse", "serve clients of 2024-11-05 too, at /sse"},
		{"http.rate", Count, "", "", "requests a second for each address and each token; unset is 50, and no limit on loopback"},
		{"http.connections", Count, "1024", "", "connections at once, an eighth of them for those without a good token so far, and requests at once, at most three quarters of them of one caller"},
		{"http.bodies", Bytes, "256MiB", "", "memory for all messages over 64 KiB that are read or served, at most a quarter of it for one caller"},
		{"receipt", Receipt, "counts", "", "what callers over HTTP learn of a call's effects: counts, or full for the files and hosts too; of an address a receipt never has more than the host"},
		{"trace", Trace, "parent", "", "what requests of plugins say of the trace that a call belongs to: parent (traceparent), state (tracestate too), baggage (all), or off"},
		{"ask", Ask, "refuse", "", "what becomes of a call that does what its plugin announced and no line allows: refuse it and ask you, wait for you, or off"},
		{"elicitation", Ask, "off", "", "what becomes of a plugin's question for the user where the client takes none: off tells the plugin so, refuse ends the call and asks you, wait waits for you"},
		{"console", Text, "127.0.0.1:0", "", "where the page for your answers is, on this machine only; port 0 is a free one, off is no page"},
		{"audit.keep", Keep, "1GiB", "", "how much of the audit log stays, in days, bytes or both: 90d,1GiB; the oldest files go first, and verify can tell that from a cut"},
		{"log.level", Level, "info", "log-level", "trace, debug, info, warn or error"},
		{"log.json", Bool, "false", "", "write log lines as JSON"},
		{"limits.memory", Bytes, "64MiB", "", "linear memory of one call"},
		{"limits.deadline", Duration, "30s", "", "time of one call"},
		{"limits.task", Duration, "1h", "", "time of one run of a task, without its waiting for answers"},
		{"limits.output", Bytes, "256KiB", "", "bytes of one answer"},
		{"limits.concurrency", Count, "", "", "calls of one plugin at the same time, beside as many tasks; callers who have none running get half as many more; unset is two for each core, 4 at least and 64 at most"},
		{"limits.queue", Count, "1024", "", "calls of one plugin that wait for their turn; over it the newest of the caller who has most waiting is refused"},
		{"limits.wait", Duration, "", "", "how long a call waits for its turn, outside its deadline; unset is as long as limits.deadline"},
		{"limits.kept", Bytes, "1GiB", "", "memory of all instances together that are kept between calls; over it the caller who has most loses the one unused for longest"},
		{"limits.tasks", Count, "256", "", "tasks of one caller that go on at once, beside those that wait for answers"},
		{"limits.ask", Duration, "10m", "", "how long one call waits for people, outside its deadline"},
	}
}
