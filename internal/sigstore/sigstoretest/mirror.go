package sigstoretest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Mirror is a mirror of a trusted root: a repository of TUF with one key for all roles.
type Mirror struct {
	Root  []byte            // of its metadata
	Files map[string][]byte // by their paths; a test may change them
}

// NewMirror makes a mirror of a trusted root, whose metadata expire at a time.
func NewMirror(t testing.TB, trusted []byte, expires time.Time) *Mirror {
	t.Helper()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	sum := sha256.Sum256(trusted)
	digest := hex.EncodeToString(sum[:])
	role := map[string]any{"keyids": []string{keyID}, "threshold": 1}
	m := &Mirror{Files: map[string][]byte{"targets/" + digest + ".trusted_root.json": trusted}}
	m.Root = signedMetadata(key, expires, "root", map[string]any{
		"consistent_snapshot": true, "roles": map[string]any{"root": role, "timestamp": role, "snapshot": role, "targets": role},
		"keys": map[string]any{keyID: map[string]any{"keytype": "ed25519", "scheme": "ed25519", "keyval": map[string]any{"public": hex.EncodeToString(key.Public().(ed25519.PublicKey))}}},
	})
	m.Files["1.root.json"] = m.Root
	m.Files["1.targets.json"] = signedMetadata(key, expires, "targets", map[string]any{
		"targets": map[string]any{"trusted_root.json": map[string]any{"length": len(trusted), "hashes": map[string]any{"sha256": digest}}},
	})
	version := map[string]any{"version": 1}
	m.Files["1.snapshot.json"] = signedMetadata(key, expires, "snapshot", map[string]any{"meta": map[string]any{"targets.json": version}})
	m.Files["timestamp.json"] = signedMetadata(key, expires, "timestamp", map[string]any{"meta": map[string]any{"snapshot.json": version}})
	return m
}

// keyID is the number of the key.
const keyID = "00000000000000000000000000000000000000000000000000000000000000aa"

// signedMetadata returns the metadata of a role.
func signedMetadata(key ed25519.PrivateKey, expires time.Time, role string, signed map[string]any) []byte {
	signed["_type"], signed["spec_version"], signed["version"], signed["expires"] = role, "1.0.31", 1, expires.UTC().Format(time.RFC3339)
	sig := hex.EncodeToString(ed25519.Sign(key, encoded(signed)))
	return encoded(map[string]any{"signatures": []any{map[string]any{"keyid": keyID, "sig": sig}}, "signed": signed})
}

// ServeHTTP serves the files.
func (m *Mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := m.Files[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write(content) // a client that went away has its own error
}
