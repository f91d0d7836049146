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
	Database Kind = "database" // postgres://user@host/database
	List     Kind = "list"     // several texts; separated by commas in a flag or a variable
)

// Key is one host setting.
type Key struct {
	Name    string // dotted, as in the file: http.addr
	Kind    Kind
	Default string // as in the file; "" is unset
	Flag    string // its flag of serve, "" for none
	Live    bool   // a change in the file applies to the next call; otherwise at the next start
	Doc     string // one sentence, lower case
}

// The values of Live.
const (
	live  = true
	fixed = false
)

// Syntax returns the written form of a kind for the documentation: its words, or a description.
func (k Kind) Syntax() string {
	switch k {
	case Bool:
		return "`true`, `false`"
	case Level:
		return "`trace`, `debug`, `info`, `warn`, `error`"
	case Receipt:
		return "`counts`, `full`"
	case Ask:
		return "`off`, `refuse`, `wait`"
	case Trace:
		return "`off`, `parent`, `state`, `baggage`"
	case Keep:
		return "days, bytes"
	default:
		return string(k)
	}
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
		{"dir", Path, "", "", fixed, "the plugin folder; unset is plugins beside the configuration file"},
		{"state", Path, "", "state", fixed, "the folder of tokens, caches, answers and the audit log; unset is the user's state folder"},
		{"store", Database, "", "", fixed, "the PostgreSQL database, postgres://user@host/database, of records, keys, questions, answers, approvals, approved bytes and the heads of audit logs, shared by hosts on several machines; a password is best in PGPASSFILE; unset is a file in the state folder"},
		{"lock", Path, "", "lock", fixed, "the lock file: the approved bytes of each plugin; unset is the database of store, or else one in the state folder, for all plugin folders"},
		{"locked", Bool, "false", "locked", fixed, "serve only plugins in the lock file; false trusts the first bytes seen"},
		{"state_keys", Path, "", "", fixed, "file of keys that seal calls waiting for an answer, shared by hosts behind one address; unset is a key in the state folder; a call continues only for the token that began it, so hosts that share keys share their tokens too"},
		{"trusted_root", Path, "", "", fixed, "the trusted root of sigstore, which signatures are verified against; unset is trusted_root.json in the state folder, where sallyport trust update writes that of the public instance"},
		{"workspace", Path, "", "", live, "the folder of {workspace} in grants; plugins see it as /workspace"},
		{"indexes", List, "", "", fixed, "where search and add look for a name: files, https://… and mcp+https://… for registries of MCP servers"},
		{"search", Bool, "false", "search", fixed, "list two tools, sallyport-search and sallyport-call, in place of all"},
		{"http.addr", Text, "", "http", fixed, "serve streamable HTTP on this host:port or unix:/path; unset is stdio"},
		{"http.path", Text, "/mcp", "", fixed, "path of the endpoint"},
		{"http.public_url", Text, "", "", fixed, "address of the endpoint for clients, as https://tools.example.com/mcp; sign-in needs it"},
		{"http.origins", List, "", "", fixed, "web origins that may call, besides local ones on loopback"},
		{"http.tokens", Path, "", "", fixed, "file of named, hashed bearer tokens; unset is tokens in the state folder"},
		{"http.no_token", Bool, "false", "no-token", fixed, "answer without a token; loopback and unix sockets only"},
		{"http.tls_cert", Path, "", "tls-cert", fixed, "certificate chain, PEM"},
		{"http.tls_key", Path, "", "tls-key", fixed, "private key, PEM"},
		{"http.behind_proxy", Bool, "false", "behind-proxy", fixed, "TLS ends at a proxy in front"},
		{"http.proxies", List, "", "", fixed, "the proxies in front, as ranges of addresses: from these alone Forwarded and X-Forwarded-For name the client, and with http.behind_proxy no other address is served without TLS; unset believes the last address of X-Forwarded-For from every peer, if http.behind_proxy is set"},
		{"http.clients", List, "", "", fixed, "ranges of addresses that may call, such as 10.0.0.0/8; unset is all"},
		{"http.linger", Duration, "", "", fixed, "time after the signal to stop in which requests are still served, while readiness says no, so that a balancer finds other hosts; unset is none"},
		{"http.drain", Duration, "8s", "", fixed, "time after that for running calls to finish, while new requests are refused with Retry-After"},
		{"http.legacy_sse", Bool, "false", "legacy-sse", fixed, "serve clients of 2024-11-05 too, at /sse"},
		{"http.rate", Count, "", "", fixed, "requests per second of each address and of each token; unset is 50, and no limit on loopback"},
		{"http.connections", Count, "1024", "", fixed, "concurrent connections, an eighth of them for callers without a good token so far, and concurrent requests, at most three quarters of them of one caller"},
		{"http.sessions", Count, "1024", "", fixed, "sessions of clients before 2026-07-28; over it the longest idle one of the caller with the most is ended, and its client has to initialize again"},
		{"http.bodies", Bytes, "256MiB", "", fixed, "memory for all messages over 64 KiB that are read or served, at most a quarter of it for one caller"},
		{"admin.listen", Text, "", "admin", fixed, "serve metrics, health, readiness and profiles on this host:port or unix:/path, without a token; unset serves none"},
		{"admin.remote", Bool, "false", "admin-remote", fixed, "let other machines reach admin.listen"},
		{"telemetry.url", Text, "", "", fixed, "send traces and metrics to the collector of OpenTelemetry at this address, by OTLP over HTTP: http://127.0.0.1:4318; unset sends none"},
		{"telemetry.header", Path, "", "", fixed, "owner-only file of one line, NAME: VALUE, the header field that the collector asks for, such as its key"},
		{"telemetry.audit", Bool, "false", "", fixed, "send each line of the audit log of this host to that collector too, as a log record; its body is the line that sallyport audit verify FILE proves"},
		{"receipt", Receipt, "counts", "", fixed, "detail of receipts for callers over HTTP: counts, or full for files and hosts too; a receipt never has more of an address than its host"},
		{"trace", Trace, "parent", "", fixed, "trace context in requests of plugins: parent (traceparent), state (tracestate too), baggage (all), or off"},
		{"ask", Ask, "refuse", "", fixed, "an announced effect that no line allows: refuse it and ask the operator, wait for the answer, or off"},
		{"elicitation", Ask, "off", "", fixed, "a plugin's question to the user of a client without elicitation: off tells the plugin so, refuse ends the call and asks the operator, wait waits for the operator"},
		{"console", Text, "127.0.0.1:0", "", fixed, "address of the page for answers, on this machine only; port 0 is a free one, off is no page"},
		{"audit.keep", Keep, "1GiB", "", fixed, "retention of the audit log, in days, bytes or both: 90d,1GiB; the oldest files are removed first, and verify can tell that from a cut"},
		{"log.level", Level, "info", "log-level", fixed, "lowest level that is logged"},
		{"log.json", Bool, "false", "", fixed, "write log lines as JSON"},
		{"limits.memory", Bytes, "64MiB", "", live, "linear memory of one call"},
		{"limits.deadline", Duration, "30s", "", live, "time of one call"},
		{"limits.task", Duration, "1h", "", live, "time of one run of a task, without its waiting for answers"},
		{"limits.output", Bytes, "256KiB", "", live, "bytes of one answer"},
		{"limits.concurrency", Count, "", "", live, "concurrent calls of one plugin, besides as many tasks; callers without a running call get half as many more; unset is two for each core, 4 at least and 64 at most"},
		{"limits.queue", Count, "1024", "", live, "queued calls of one plugin; over it the newest call of the caller with the most queued calls is refused"},
		{"limits.wait", Duration, "", "", live, "time of a call in the queue, outside its deadline; unset is limits.deadline"},
		{"limits.kept", Bytes, "1GiB", "", live, "memory of all instances together that are kept between calls; over it the caller with the most loses its least recently used one"},
		{"limits.loaded", Bytes, "", "", live, "memory of the compiled code and the started images of all plugins together; over it the longest unused plugin is unloaded until its next call, which takes some 20 ms longer; after half a minute without calls an eighth of it stays; unset is an eighth of the machine's memory, at most 512 MiB"},
		{"limits.tasks", Count, "256", "", fixed, "concurrent tasks of one caller, besides those that wait for answers"},
		{"limits.ask", Duration, "10m", "", fixed, "time of one call waiting for people, outside its deadline"},
	}
}
