package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// update is the request for the newest trusted root of a mirror.
type update struct {
	Mirror string `json:"mirror"` // an address; "" is the mirror of the public instance
	// Root is the root of the mirror's metadata, which a person verified; "" is the one of the public instance, as the
	// library has it.
	Root []byte `json:"root"`
}

// updated is the answer: a trusted root, or the reason why there is none.
type updated struct {
	Fault  string          `json:"fault,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Root   json.RawMessage `json:"root,omitempty"`
}

// faultUpdate is the fault of a mirror.
const faultUpdate = "update"

// target is the name of the trusted root in the metadata.
const target = "trusted_root.json"

// run returns the newest trusted root. Each address that it needs goes out as {"get":…,"max":…}, and its contents come
// in as {"status":…,"body":…}.
func (u *update) run(in *json.Decoder, out *json.Encoder) updated {
	o := &tuf.Options{Root: u.Root, RepositoryBaseURL: u.Mirror, DisableLocalCache: true, Fetcher: &fetcher{in, out}}
	if o.Root == nil {
		o.Root = tuf.DefaultRoot()
	}
	if o.RepositoryBaseURL == "" {
		o.RepositoryBaseURL = tuf.DefaultMirror
	}
	client, err := tuf.New(o)
	if err != nil {
		return updated{Fault: faultUpdate, Detail: err.Error()}
	}
	raw, err := client.GetTarget(target)
	if err == nil {
		_, err = root.NewTrustedRootFromJSON(raw)
	}
	if err != nil {
		return updated{Fault: faultUpdate, Detail: err.Error()}
	}
	return updated{Root: raw}
}

// fetcher asks the process at the other end of the pipes for the contents of addresses.
type fetcher struct {
	in  *json.Decoder
	out *json.Encoder
}

// wanted asks for the contents of an address, and delivered has them.
type (
	wanted struct {
		Get string `json:"get"`
		Max int64  `json:"max"` // bytes
	}
	delivered struct {
		Status int    `json:"status"`
		Body   []byte `json:"body"`
		Error  string `json:"error"`
	}
)

// DownloadFile returns the contents of an address, of at most max bytes.
func (f *fetcher) DownloadFile(address string, max int64, _ time.Duration) ([]byte, error) {
	if err := f.out.Encode(wanted{Get: address, Max: max}); err != nil {
		return nil, err
	}
	var d delivered
	if err := f.in.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s did not come: %w", address, err)
	}
	switch {
	case d.Error != "":
		return nil, errors.New(d.Error)
	case d.Status != http.StatusOK:
		return nil, &metadata.ErrDownloadHTTP{StatusCode: d.Status, URL: address}
	case int64(len(d.Body)) > max:
		return nil, &metadata.ErrDownloadLengthMismatch{Msg: address + " is longer than its metadata announce"}
	}
	return d.Body, nil
}
