//go:build programs && unix

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// debianRegistry is Debian's registry server, with TLS and a login.
type debianRegistry struct {
	dir  string
	host string // with its port
}

// newDebianRegistry starts the server on a free port.
func newDebianRegistry(t *testing.T) *debianRegistry {
	t.Helper()
	r := &debianRegistry{dir: t.TempDir()}
	r.certify(t)
	sum, err := bcrypt.GenerateFromPassword([]byte("s3cret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(r.dir, "htpasswd"), fmt.Appendf(nil, "ada:%s\n", sum))
	for range 5 { // another program may take the port first
		if r.start(t) {
			return r
		}
	}
	t.Fatal("docker-registry: got no server that listens, want one")
	return nil
}

// certify makes a certificate of the server, which is its own root.
func (r *debianRegistry) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	certificate, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(r.dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	put(t, filepath.Join(r.dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// start runs the server and reports whether it listens.
func (r *debianRegistry) start(t *testing.T) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.host = l.Addr().String()
	l.Close()
	config := filepath.Join(r.dir, "config.yml")
	put(t, config, fmt.Appendf(nil, `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %[1]s/store}}
http: {addr: %[2]s, tls: {certificate: %[1]s/cert.pem, key: %[1]s/key.pem}}
auth: {htpasswd: {realm: test, path: %[1]s/htpasswd}}
`, r.dir, r.host))
	cmd := exec.Command("docker-registry", "serve", config)
	if err := cmd.Start(); err != nil {
		t.Fatalf("docker-registry: got %v, want it started (make registry installs it)", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	up := false
	eventually(t, "the registry listens, or ends", func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		conn, err := net.Dial("tcp", r.host)
		if up = err == nil; up {
			conn.Close()
		}
		return up
	})
	return up
}

// author is a home folder with the login of the registry in a credential helper of Docker.
func (r *debianRegistry) author(t *testing.T, a *added) func(args ...string) *exec.Cmd {
	t.Helper()
	docker := t.TempDir()
	put(t, filepath.Join(docker, "config.json"), []byte(`{"credHelpers":{"`+r.host+`":"test"}}`))
	helper := filepath.Join(docker, "docker-credential-test")
	put(t, helper, []byte("#!/bin/sh\ncat >/dev/null\necho '{\"Username\":\"ada\",\"Secret\":\"s3cret\"}'\n"))
	if err := os.Chmod(helper, 0o700); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) *exec.Cmd {
		cmd := a.program(args...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+filepath.Join(r.dir, "cert.pem"), "DOCKER_CONFIG="+docker, "PATH="+docker+string(os.PathListSeparator)+os.Getenv("PATH"))
		return cmd
	}
}

// A plugin is packed, signed, pushed, and added by its digest under a policy that requires the signature.
func TestRegistry_takesAPushAndServesItByDigest(t *testing.T) {
	r, a := newDebianRegistry(t), newAdded(t)
	as := r.author(t, a)
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, speaker("Speaks.", "one"))
	if out, err := as("pack", file).CombinedOutput(); err != nil {
		t.Fatalf("pack: %v, %s", err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte("k"), ed25519.SeedSize))
	put(t, file+".minisig", signature(private, wasm))
	key := base64.StdEncoding.EncodeToString([]byte("Ed" + "12345678" + string(private.Public().(ed25519.PublicKey))))
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("sources:\n  oci://"+r.host+"/acme/**: {minisign: "+key+"}\n  '**': refuse\n"))

	to := "oci://" + r.host + "/acme/speaker:1"
	refused := func(cmd *exec.Cmd, want string) {
		t.Helper()
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) || a.files() != "" {
			t.Errorf("%v: got %s, %v and files %q, want %q", cmd.Args[1:3], out, err, a.files(), want)
		}
	}
	stranger := as("push", file, to)
	stranger.Env = append(stranger.Env, "DOCKER_CONFIG="+t.TempDir())
	refused(stranger, "hint: docker login "+r.host)
	trusting := as("push", file, to)
	trusting.Env = append(trusting.Env, "SSL_CERT_FILE="+filepath.Join(r.dir, "none.pem"), "SSL_CERT_DIR="+r.dir+"/none")
	refused(trusting, "the certificate of "+r.host+" is not valid")
	refused(as("add", to, a.dir), "has no such plugin")

	out, err := as("push", file, to, "--minisign", key).CombinedOutput()
	found := regexp.MustCompile(`next: sallyport add (oci://\S+@sha256:[0-9a-f]{64})`).FindSubmatch(out)
	if err != nil || found == nil || !strings.Contains(string(out), "pushed "+to+", ") || !strings.Contains(string(out), " bytes, signed") {
		t.Fatalf("push: got %s, %v, want its digest", out, err)
	}
	if again, err := as("push", file, to).CombinedOutput(); err != nil || !bytes.Equal(again, out) {
		t.Errorf("push again: got %s, %v, want %s", again, err, out)
	}
	refused(as("add", to+"@sha256:"+strings.Repeat("0", 64), a.dir), "has no such plugin")
	screen, text, code := typing(t, as("add", string(found[1]), a.dir), "y")
	if code != 0 || !strings.Contains(screen, "signed  minisign 3837363534333231, as its source requires") || a.files() != "speaker.wasm" {
		t.Fatalf("add: got code %d, %s and files %q, want it installed\n%s", code, text, a.files(), screen)
	}
	if out, err := as("list", a.dir, "--outdated").Output(); err != nil || string(out) != "speaker  current  "+to+"\n" {
		t.Errorf("list: got %s, %v, want it current", out, err)
	}

	put(t, file, speaker("Speaks louder.", "two"))
	if out, err := as("push", file, to, "--replace", "--minisign", key).CombinedOutput(); err == nil || !strings.Contains(string(out), "the bytes are not those that were signed") {
		t.Errorf("an old signature: got %s, %v, want it refused", out, err)
	}
	if err := os.Remove(file + ".minisig"); err != nil {
		t.Fatal(err)
	}
	if out, err := as("push", file, to).CombinedOutput(); err == nil || !strings.Contains(string(out), "the tag 1 names another image") {
		t.Errorf("a taken tag: got %s, %v, want it refused", out, err)
	}
	if out, err := as("push", file, to, "--replace").CombinedOutput(); err != nil || !strings.Contains(string(out), "not signed") {
		t.Errorf("--replace: got %s, %v, want it pushed", out, err)
	}
	if out, err := as("list", a.dir, "--outdated").Output(); err != nil || string(out) != "speaker  outdated  "+to+"\n" {
		t.Errorf("list: got %s, %v, want it outdated", out, err)
	}
	if out, err := as("update", "--dir", a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "it is not signed, and a signature by") {
		t.Errorf("update: got %s, %v, want the unsigned bytes refused", out, err)
	}
}
