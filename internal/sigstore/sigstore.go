// Package sigstore verifies sigstore bundles, by the program sallyport-sigstore: its libraries are several times as
// large as this module. Nothing is asked of the network.
//
//	v := sigstore.Verifier{Program: program, Root: "trusted_root.json"}
//	signer, err := v.Verify(ctx, bundle, content)
//	// signer.Issuer vouches for signer.Identity, which signed the content
//
// The program gets a bundle and digests, and no file, no variable of the environment and no right: see its package
// comment.
package sigstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

const (
	// MaxBundle limits a bundle, in bytes; a large attestation has a tenth of it.
	MaxBundle = 1 << 20
	// maxRoot limits a trusted root, in bytes; the public one has 10 KB.
	maxRoot = 1 << 20
	// maxVerdict limits the answer of the program, in bytes.
	maxVerdict = 64 << 10
	// maxTime limits one verification; it takes a few milliseconds.
	maxTime = time.Minute
)

// Program is the name of the program that verifies.
const Program = "sallyport-sigstore"

// Beside returns the path of the program beside a file, such as this program's own.
func Beside(file string) string {
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.Dir(file), name)
}

// Verifier verifies bundles against a trusted root. Its fields are required.
type Verifier struct {
	Program string // the whole path of sallyport-sigstore
	Root    string // the file of the trusted root
}

// Signer is an identity that signed, and when.
type Signer struct {
	Issuer     string      // the identity provider: https://token.actions.githubusercontent.com
	Identity   string      // as that provider names it: an address of mail, or of a workflow
	At         time.Time   // of the signature
	Statement  string      // type of a signed statement about the content; "" if the content itself is signed
	Provenance *Provenance // of the statement; nil for other statements
}

// Provenance is the origin of a build, as SLSA describes it.
type Provenance struct{ Builder, Source, Commit, Ref string }

// verification is the request to the program.
type verification struct {
	Root    json.RawMessage   `json:"root"`
	Bundle  json.RawMessage   `json:"bundle"`
	Digests map[string]string `json:"digests"`
}

// verdict is its answer.
type verdict struct {
	Fault, Detail string
	Signer
}

// Verify returns the signer of a bundle for the content. A *Fault is the reason why there is none.
func (v Verifier) Verify(ctx context.Context, bundle, content []byte) (Signer, error) {
	if len(bundle) > MaxBundle {
		return Signer{}, &Fault{Kind: "large"}
	}
	if !json.Valid(bundle) {
		return Signer{}, &Fault{Kind: "malformed"}
	}
	root, err := v.root()
	if err != nil {
		return Signer{}, err
	}
	request, err := json.Marshal(map[string]verification{"verify": {root, bundle, digests(content)}})
	if err != nil {
		return Signer{}, err
	}
	answer, err := v.ask(ctx, request)
	if err != nil {
		return Signer{}, err
	}
	var found verdict
	if err := json.Unmarshal(answer, &found); err != nil {
		return Signer{}, &Fault{Kind: "program", Detail: "its answer is not JSON"}
	}
	if found.Fault != "" || found.Issuer == "" || found.Identity == "" {
		return Signer{}, &Fault{Kind: found.Fault, Detail: found.Detail, root: v.Root}
	}
	return found.Signer, nil
}

// root reads the trusted root.
func (v Verifier) root() (json.RawMessage, error) {
	f, err := os.Open(v.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Fault{Kind: "noroot", root: v.Root}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRoot+1))
	if err == nil && (len(raw) > maxRoot || !json.Valid(raw)) {
		err = &Fault{Kind: "root", Detail: "it is not JSON", root: v.Root}
	}
	return raw, err
}

// digests returns the digests of a content in the algorithms of signatures.
func digests(content []byte) map[string]string {
	short, middle, long := sha256.Sum256(content), sha512.Sum384(content), sha512.Sum512(content)
	return map[string]string{"sha256": hex.EncodeToString(short[:]), "sha384": hex.EncodeToString(middle[:]), "sha512": hex.EncodeToString(long[:])}
}

// ask runs the program with a request on its standard input, and returns its answer.
func (v Verifier) ask(ctx context.Context, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	cmd := v.command(ctx)
	answer, complaint := &bounded{max: maxVerdict}, &bounded{max: 1 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), answer, complaint
	if err := cmd.Run(); err != nil {
		return nil, v.failure(ctx, err, complaint.String())
	}
	return answer.Bytes(), nil
}

// failure returns the error for a program that did not come to its end.
func (v Verifier) failure(ctx context.Context, err error, complaint string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Fault{Kind: "noprogram", Detail: v.Program}
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", Program, context.Cause(ctx))
	}
	return &Fault{Kind: "program", Detail: fmt.Sprintf("%v %.200q", err, complaint)}
}

// command returns the program, with nothing of this process.
func (v Verifier) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, v.Program)
	if !filepath.IsAbs(v.Program) {
		cmd.Err = fs.ErrNotExist // a name alone would be looked for in PATH, whose programs are not those of the release
	}
	cmd.Env = []string{"GOTRACEBACK=none"}
	if root := os.Getenv("SystemRoot"); runtime.GOOS == "windows" && root != "" {
		cmd.Env = append(cmd.Env, "SystemRoot="+root) // programs of Windows do not start without it
	}
	cmd.Dir = filepath.Dir(v.Program)
	return cmd
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.max-min(b.max, b.Len()))])
	return len(p), nil
}
