package settings

import "path/filepath"

// StateFolder is the path of a state folder. Unless the operator sets other places, it holds:
//
//	sallyport.log  tokens  token  state-keys  console  hosts/  audit/  compiled/  approved/  recorded/  sallyport.lock
type StateFolder string

// State returns the state folder.
func (s *Settings) State() StateFolder { return StateFolder(s.Text("state")) }

func (d StateFolder) join(name string) string { return filepath.Join(string(d), name) }

// Log returns the path of the log.
func (d StateFolder) Log() string { return d.join("sallyport.log") }

// Audit returns the folder of the audit log.
func (d StateFolder) Audit() string { return d.join("audit") }

// AuditKey returns the path of the key that proves the audit log.
func (d StateFolder) AuditKey() string { return filepath.Join(d.Audit(), "key") }

// Compiled returns the cache folder of compiled modules.
func (d StateFolder) Compiled() string { return d.join("compiled") }

// Approved returns the folder with the bytes of approved plugins.
func (d StateFolder) Approved() string { return d.join("approved") }

// Recorded returns the folder of recorded calls.
func (d StateFolder) Recorded() string { return d.join("recorded") }

// Keys returns the file of this state folder's own keys, which seal continuations.
func (d StateFolder) Keys() string { return d.join("state-keys") }

// LocalToken returns the file of the token for programs on this machine.
func (d StateFolder) LocalToken() string { return d.join("token") }

// Console returns the file of the console's address.
func (d StateFolder) Console() string { return d.join("console") }

// Hosts returns the folder in which running hosts publish their state.
func (d StateFolder) Hosts() string { return d.join("hosts") }

// TokensFile returns the file of named tokens.
func (s *Settings) TokensFile() string {
	if file := s.Text("http.tokens"); file != "" {
		return file
	}
	return s.State().join("tokens")
}

// SharesLock reports whether the lock is in the database: unless a file is configured, it is where the answers are.
func (s *Settings) SharesLock() bool { return s.Text("store") != "" && s.Text("lock") == "" }

// LockFile returns the lock file: the configured one, or the one of the state folder, shared by all plugin folders. A
// plugin's name means the same bytes in each of them, since its grants and answers hold in all. The default is never in
// a plugin folder: a file that arrives with a plugin approves nothing.
func (s *Settings) LockFile() string {
	if file := s.Text("lock"); file != "" {
		return file
	}
	return s.State().join("sallyport.lock")
}
