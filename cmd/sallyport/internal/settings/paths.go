package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// Where things are in the state folder, which each of these is below unless the operator names a place:
//
//	sallyport.log  tokens  token  state-keys  audit/  compiled/  approved/  locks/<folder>/sallyport.lock

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

// TokensFile is where named tokens are kept.
func (s *Settings) TokensFile() string {
	if file := s.Text("http.tokens"); file != "" {
		return file
	}
	return s.inState("tokens")
}

// LockFile is the lock file: the one that was named, or one for the plugin folder. It never lies in that folder by
// itself: what arrives with a plugin approves nothing.
func (s *Settings) LockFile() string {
	if file := s.Text("lock"); file != "" {
		return file
	}
	dir := s.Text("dir")
	sum := sha256.Sum256([]byte(dir))
	return s.inState("locks", plainName(filepath.Base(dir))+"-"+hex.EncodeToString(sum[:4]), "sallyport.lock")
}

// plainName is what of a folder's name any file system can have in another name.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name[:min(len(name), 40)])
}
