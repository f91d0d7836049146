package host

import (
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

// SignatureVerifier returns the verifier of sigstore signatures: the program beside this one, and the trusted root of
// the settings.
func SignatureVerifier(s *settings.Settings) sigstore.Verifier {
	self := startedFrom.name
	if file, err := filepath.EvalSymlinks(self); err == nil {
		self = file
	}
	return sigstore.Verifier{Program: sigstore.Beside(self), Root: s.Text("trusted_root")}
}
