package settings

import "path/filepath"

// inState joins a path below the state folder. Unless the operator sets other places, the folder holds:
//
//	sallyport.log  tokens  token  state-keys  console  hosts/  audit/  compiled/  approved/  sallyport.lock
func (s *Settings) inState(names ...string) string {
	return filepath.Join(append([]string{s.Text("state")}, names...)...)
}

// LogFile returns the path of the log.
func (s *Settings) LogFile() string { return s.inState("sallyport.log") }

// AuditFolder returns the folder of the audit log.
func (s *Settings) AuditFolder() string { return s.inState("audit") }

// CompiledFolder returns the cache folder of compiled modules.
func (s *Settings) CompiledFolder() string { return s.inState("compiled") }

// ApprovedFolder returns the folder with the bytes of approved plugins.
func (s *Settings) ApprovedFolder() string { return s.inState("approved") }

// OwnKeysFile returns the file of this state folder's own keys, which seal continuations.
func (s *Settings) OwnKeysFile() string { return s.inState("state-keys") }

// LocalTokenFile returns the file of the token for programs on this machine.
func (s *Settings) LocalTokenFile() string { return s.inState("token") }

// ConsoleFile returns the file of the console's address.
func (s *Settings) ConsoleFile() string { return s.inState("console") }

// HostsFolder returns the folder in which running hosts publish their state.
func (s *Settings) HostsFolder() string { return s.inState("hosts") }

// TokensFile returns the file of named tokens.
func (s *Settings) TokensFile() string {
	if file := s.Text("http.tokens"); file != "" {
		return file
	}
	return s.inState("tokens")
}

// LockFile returns the lock file: the configured one, or the one of the state folder, shared by all plugin folders. A
// plugin's name means the same bytes in each of them, since its grants and answers hold in all. The default is never in
// a plugin folder: a file that arrives with a plugin approves nothing.
func (s *Settings) LockFile() string {
	if file := s.Text("lock"); file != "" {
		return file
	}
	return s.inState("sallyport.lock")
}
