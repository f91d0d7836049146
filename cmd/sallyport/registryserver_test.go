//go:build programs && unix

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
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
	put(t, file+".minisig", minisigntest.New("12345678").Sign(wasm))
	key := minisigntest.New("12345678").Public()
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
	if again, err := as("push", file, to, "--minisign", key).CombinedOutput(); err != nil || !bytes.Equal(again, out) {
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
	if out, err := as("update", a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "it is not signed, and a signature by") {
		t.Errorf("update: got %s, %v, want the unsigned bytes refused", out, err)
	}
}

// minisignature returns the signature in the manifest under a tag.
func (r *debianRegistry) minisignature(t *testing.T, name, tag string) []byte {
	t.Helper()
	certificate, err := os.ReadFile(filepath.Join(r.dir, "cert.pem"))
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	ask, err := http.NewRequest(http.MethodGet, "https://"+r.host+"/v2/"+name+"/manifests/"+tag, nil)
	must(t, err)
	ask.SetBasicAuth("ada", "s3cret")
	ask.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
	res, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}).Do(ask)
	must(t, err)
	defer res.Body.Close()
	var manifest struct{ Annotations map[string]string }
	must(t, json.NewDecoder(res.Body).Decode(&manifest))
	return []byte(manifest.Annotations["dev.sallyport.minisig"])
}

// Keys that minisign makes, with and without a password, sign at a push, and minisign verifies the pushed signature.
func TestRegistry_signsWithKeysOfMinisign(t *testing.T) {
	r, a := newDebianRegistry(t), newAdded(t)
	as, dir := r.author(t, a), t.TempDir()
	file, sign, public := filepath.Join(dir, "speaker.wasm"), filepath.Join(dir, "minisign.key"), filepath.Join(dir, "minisign.pub")
	put(t, file, speaker("Speaks.", "one"))
	if out, err := as("pack", file).CombinedOutput(); err != nil {
		t.Fatalf("pack: %v, %s", err, out)
	}
	for tag, password := range map[string]string{"1": "", "2": "a long pässword"} {
		generate := exec.Command("minisign", "-G", "-f", "-W", "-s", sign, "-p", public)
		if password != "" {
			generate = exec.Command("minisign", "-G", "-f", "-s", sign, "-p", public)
			generate.Stdin = strings.NewReader(password + "\n" + password + "\n")
		}
		if out, err := generate.CombinedOutput(); err != nil {
			t.Fatalf("minisign -G: %v, %s (make registry installs it)", err, out)
		}
		var out bytes.Buffer
		push := as("push", file, "oci://"+r.host+"/acme/speaker:"+tag, "--sign", sign)
		push.Stdout, push.Stderr = &out, &out
		p := terminaltest.Start(t, push)
		if password != "" {
			p.Expect("which is not shown: ")
			p.Type(password)
		}
		if err := p.Wait(); err != nil || !strings.Contains(out.String(), "signed by the key") {
			t.Fatalf("push: got %s, %v, want it signed", out.String(), err)
		}
		put(t, file+".minisig", r.minisignature(t, "acme/speaker", tag))
		if out, err := exec.Command("minisign", "-V", "-m", file, "-p", public).CombinedOutput(); err != nil || !strings.Contains(string(out), "Trusted comment: speaker") {
			t.Errorf("minisign -V: got %s, %v, want the signature verified", out, err)
		}
	}
}
