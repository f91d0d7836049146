package sigstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// PublicMirror is the mirror of the public instance of sigstore.
const PublicMirror = "https://tuf-repo-cdn.sigstore.dev"

const (
	// maxDownload limits one file of a mirror, in bytes; the largest has 300 KB.
	maxDownload = 4 << 20
	// maxDownloads limits the files of one update: a dozen, and one for each new root of the mirror's metadata.
	maxDownloads = 300
	// maxUpdate limits the time of one update.
	maxUpdate = 5 * time.Minute
)

// Update is a request for the newest trusted root of a mirror. Mirror and Get are required.
type Update struct {
	Mirror string          // its address
	Root   json.RawMessage // the root of its metadata; nil is that of the public instance, which the program has
	// Get fetches an address, at most max bytes.
	Get func(ctx context.Context, address string, max int64) (status int, body []byte, err error)
}

// answer is a line of the program: an address to fetch, or the trusted root.
type answer struct {
	Get           string
	Max           int64
	Fault, Detail string
	Root          json.RawMessage
}

// delivery is the contents of an address, for the program.
type delivery struct {
	Status int    `json:"status"`
	Body   []byte `json:"body,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Newest returns the newest trusted root, as the signed metadata of the mirror name it. The program checks them and
// has no network: it names the addresses, which have to be below the mirror.
func (v Verifier) Newest(ctx context.Context, u Update) (root []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxUpdate)
	defer cancel()
	cmd := v.command(ctx)
	complaint := &bounded{max: 1 << 10}
	cmd.Stderr = complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, v.failure(ctx, err, "")
	}
	root, talk := u.talk(ctx, in, out)
	cancelled := talk != nil
	if cancelled {
		cancel()
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil && !cancelled {
		return nil, v.failure(ctx, err, complaint.String())
	}
	return root, talk
}

// talk sends the request, and the contents of addresses until the answer comes.
func (u Update) talk(ctx context.Context, in io.Writer, out io.Reader) ([]byte, error) {
	send, receive := json.NewEncoder(in), json.NewDecoder(&io.LimitedReader{R: out, N: maxDownload})
	request := map[string]any{"mirror": u.Mirror}
	if u.Root != nil {
		request["root"] = []byte(u.Root)
	}
	if err := send.Encode(map[string]any{"update": request}); err != nil {
		return nil, err
	}
	for range maxDownloads {
		var a answer
		if err := receive.Decode(&a); err != nil {
			return nil, &Fault{Kind: "program", Detail: err.Error()}
		}
		switch {
		case a.Fault != "":
			return nil, &Fault{Kind: a.Fault, Detail: a.Detail}
		case a.Root != nil && len(a.Root) <= maxRoot:
			return a.Root, nil
		case !strings.HasPrefix(a.Get, strings.TrimSuffix(u.Mirror, "/")+"/"):
			return nil, &Fault{Kind: "program", Detail: fmt.Sprintf("it asks for %.100q, which is not of the mirror", a.Get)}
		}
		if err := send.Encode(u.delivered(ctx, a)); err != nil {
			return nil, err
		}
	}
	return nil, &Fault{Kind: "update", Detail: "it has no end of metadata"}
}

// delivered fetches an address.
func (u Update) delivered(ctx context.Context, a answer) delivery {
	status, body, err := u.Get(ctx, a.Get, min(max(a.Max, 0), maxDownload))
	switch {
	case err != nil:
		return delivery{Error: err.Error()}
	case status != http.StatusOK:
		return delivery{Status: status}
	}
	return delivery{Status: status, Body: body}
}
