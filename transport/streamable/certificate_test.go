package streamable

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// logBuffer collects a log.
type logBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// leaf connects to s and returns the certificate that it shows.
func leaf(t *testing.T, s *served) []byte {
	t.Helper()
	c, err := tls.Dial("tcp", s.l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Raw
}

// renew makes a new certificate and moves it to dir, as a file or both.
func renew(t *testing.T, dir string, names ...string) {
	t.Helper()
	fresh := t.TempDir()
	writeCertificate(t, fresh)
	for _, name := range names {
		if err := os.Rename(filepath.Join(fresh, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// The next handshake uses changed files. A half-changed, broken, missing or huge pair keeps the one before, and connections
// stay.
func TestServe_reloadsChangedCertificates(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir)
	var log logBuffer
	s := serve(t, newFake(), &Options{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	first := leaf(t, s)
	stays, err := tls.Dial("tcp", s.l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close()
	for _, test := range []struct {
		name   string
		change func()
	}{
		{"half", func() { renew(t, dir, "cert.pem") }},
		{"broken", func() { os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("-----BEGIN"), 0o600) }},
		{"huge", func() { os.WriteFile(filepath.Join(dir, "cert.pem"), bytes.Repeat([]byte("x"), maxPEM+1), 0o600) }},
		{"missing", func() { os.Remove(filepath.Join(dir, "cert.pem")) }},
	} {
		test.change()
		for range 2 {
			if got := leaf(t, s); !bytes.Equal(got, first) {
				t.Errorf("%s: got another certificate, want the one before", test.name)
			}
		}
	}
	if got := strings.Count(log.String(), "the one before stays"); got != 4 {
		t.Errorf("got %d errors logged, want one for each of 4 states: %s", got, log.String())
	}
	renew(t, dir, "cert.pem", "key.pem")
	second := leaf(t, s)
	if bytes.Equal(second, first) || !bytes.Equal(leaf(t, s), second) {
		t.Error("got the certificate before, want the changed one")
	}
	if got := strings.Count(log.String(), "is in force"); got != 1 {
		t.Errorf("got %d changes logged, want 1: %s", got, log.String())
	}
	if err := stays.Handshake(); err != nil {
		t.Errorf("got %v for the connection of before, want it open", err)
	}
	s.end()
}

// A secret of Kubernetes is a link to a folder that is exchanged.
func TestServe_reloadsCertificatesBehindALink(t *testing.T) {
	top := t.TempDir()
	link := filepath.Join(top, "data")
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			t.Fatal(err)
		}
		writeCertificate(t, filepath.Join(top, name))
	}
	if err := os.Symlink("one", link); err != nil {
		t.Fatal(err)
	}
	s := serve(t, newFake(), &Options{TLSCert: filepath.Join(link, "cert.pem"), TLSKey: filepath.Join(link, "key.pem")})
	first := leaf(t, s)
	if err := os.Symlink("two", link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(leaf(t, s), first) {
		t.Error("got the certificate before, want that of the other folder")
	}
	s.end()
}

func TestServe_refusesWeakTLS(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir)
	s := serve(t, newFake(), &Options{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")})
	for name, o := range map[string]*tls.Config{
		"TLS 1.0": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10},
		"TLS 1.1": {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"RC4":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA}},
	} {
		o.InsecureSkipVerify = true
		if c, err := tls.Dial("tcp", s.l.Addr().String(), o); err == nil {
			c.Close()
			t.Errorf("%s: got a connection, want an error", name)
		} else if _, refused := err.(net.Error); !refused {
			t.Errorf("%s: got %v, want an error of the other side", name, err)
		}
	}
	s.end()
}
