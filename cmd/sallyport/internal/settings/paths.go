package settings

import "path/filepath"

// Where things are in the state folder, which each of these is below unless the operator names a place:
//
//	sallyport.log  tokens  token  state-keys  console  hosts/  audit/  compiled/  approved/  sallyport.lock

func (s *Settings) inState(names ...string) string {
	return filepath.Join(append([]string{s.Text("state")}, names...)...)
}

// LogFile is where the log is kept.
func (s *Settings) LogFile() string { return s.inState("sallyport.log") }

// AuditFolder is where the audit log is.
func (s *Settings) AuditFolder() string { return s.inState("audit") }

// CompiledFolder is where compiled modules are kept.
func (s *Settings) CompiledFolder() string { return s.inState("compiled") }

// ApprovedFolder is where the bytes of approved plugins are kept.
func (s *Settings) ApprovedFolder() string { return s.inState("approved") }

// OwnKeysFile is where this host keeps the keys that seal calls.
func (s *Settings) OwnKeysFile() string { return s.inState("state-keys") }

// LocalTokenFile is where the token of programs on this machine is.
func (s *Settings) LocalTokenFile() string { return s.inState("token") }

// ConsoleFile is where the address of the console is.
func (s *Settings) ConsoleFile() string { return s.inState("console") }

// HostsFolder is where the hosts that run tell what they serve.
func (s *Settings) HostsFolder() string { return s.inState("hosts") }

// TokensFile is where named tokens are kept.
func (s *Settings) TokensFile() string {
	if file := s.Text("http.tokens"); file != "" {
		return file
	}
	return s.inState("tokens")
}

// LockFile is the lock file: the one that was named, or the one of the state folder, for all plugin folders together. A
// plugin's name means the same bytes in each of them, since its grants and answers belong to both. It never lies in a
// plugin folder by itself: a file that arrives with a plugin approves nothing.
func (s *Settings) LockFile() string {
	if file := s.Text("lock"); file != "" {
		return file
	}
	return s.inState("sallyport.lock")
}
