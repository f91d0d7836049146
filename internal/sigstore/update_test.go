package sigstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/internal/sigstore/sigstoretest"
)

// get fetches an address of a test.
func get(ctx context.Context, address string, max int64) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, max+1))
	return res.StatusCode, body, err
}

func TestNewest_returnsTheRootThatTheMirrorVouchesFor(t *testing.T) {
	trusted := sigstoretest.New(t).Root()
	m := sigstoretest.NewMirror(t, trusted, time.Now().AddDate(1, 0, 0))
	web := httptest.NewServer(m)
	defer web.Close()
	got, err := sigstore.Verifier{Program: program}.Newest(t.Context(), sigstore.Update{Mirror: web.URL, Root: m.Root, Get: get})
	if err != nil || !bytes.Equal(got, trusted) {
		t.Errorf("got %s, %v, want %s", got, err, trusted)
	}
}

func TestNewest_refusesBadMirrors(t *testing.T) {
	trusted, later := sigstoretest.New(t).Root(), time.Now().AddDate(1, 0, 0)
	for name, c := range map[string]struct {
		expires time.Time
		change  func(*sigstoretest.Mirror, *sigstore.Update)
		want    string
	}{
		"expired": {time.Now().AddDate(-1, 0, 0), nil, "expired"},
		"another root of the metadata": {later, func(m *sigstoretest.Mirror, u *sigstore.Update) {
			u.Root = bytes.Replace(m.Root, []byte(`"sig":"`), []byte(`"sig":"00`), 1)
		}, "vouch"},
		"the public root of the metadata": {later, func(_ *sigstoretest.Mirror, u *sigstore.Update) { u.Root = nil }, "vouch"},
		"changed metadata": {later, func(m *sigstoretest.Mirror, _ *sigstore.Update) {
			m.Files["1.targets.json"] = bytes.Replace(m.Files["1.targets.json"], []byte(`"length":`), []byte(`"length":1`), 1)
		}, "vouch"},
		"a changed target": {later, func(m *sigstoretest.Mirror, _ *sigstore.Update) {
			for path, content := range m.Files {
				if strings.HasPrefix(path, "targets/") {
					m.Files[path] = append([]byte(" "), content[1:]...)
				}
			}
		}, "vouch"},
		"a missing file": {later, func(m *sigstoretest.Mirror, _ *sigstore.Update) { delete(m.Files, "timestamp.json") }, "404"},
		"no network": {later, func(_ *sigstoretest.Mirror, u *sigstore.Update) {
			u.Get = func(context.Context, string, int64) (int, []byte, error) { return 0, nil, errors.New("no route") }
		}, "no route"},
	} {
		m := sigstoretest.NewMirror(t, trusted, c.expires)
		web := httptest.NewServer(m)
		u := sigstore.Update{Mirror: web.URL, Root: m.Root, Get: get}
		if c.change != nil {
			c.change(m, &u)
		}
		got, err := sigstore.Verifier{Program: program}.Newest(t.Context(), u)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s, %v, want %q", name, got, err, c.want)
		}
		web.Close()
	}
	if _, err := (sigstore.Verifier{Program: program + ".missing"}).Newest(t.Context(), sigstore.Update{}); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("got %v, want a missing program", err)
	}
}
