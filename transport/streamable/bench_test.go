package streamable

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/transport/transporttest"
)

// BenchmarkCall compares one modern tools/call over loopback with a bare HTTP handler that reads the body and writes
// a fixed response.
func BenchmarkCall(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		answer := []byte(`{"jsonrpc":"2.0","id":1,"result":"hi"}`)
		calls(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Write(answer)
		}))
	})
	b.Run("transport", func(b *testing.B) {
		h := newHandler(newFake(), &Options{Tokens: tokens{"secret": "ci"}})
		defer h.Close()
		calls(b, h)
	})
}

func calls(b *testing.B, h http.Handler) {
	srv := httptest.NewServer(h)
	defer srv.Close()
	client := srv.Client()
	body := []byte(callBody("echo", "hi"))
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest("POST", srv.URL+"/mcp", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		for key, value := range modernHeaders("tools/call", "echo", headers{"Authorization": "Bearer secret"}) {
			r.Header.Set(key, value)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			b.Fatal(response.Status)
		}
	}
	client.CloseIdleConnections()
}

// BenchmarkSession is one tools/call in a session, which is in memory, or in the store of storetest.
func BenchmarkSession(b *testing.B) {
	stores := map[string]*store.Store{"memory": nil, "store": store.New(storetest.Options(b, b.TempDir()))}
	for name, in := range stores {
		b.Run(name, func(b *testing.B) {
			srv, _ := transporttest.Server(b, manifest, (&plugin{}).serve)
			h := NewHandler(srv, &Options{Store: in})
			defer h.Close()
			web := httptest.NewServer(h)
			defer web.Close()
			client, session := web.Client(), ""
			defer client.CloseIdleConnections()
			post := func(body string) *http.Response {
				r, err := http.NewRequest("POST", web.URL+"/mcp", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				for key, value := range (headers{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session}) {
					r.Header.Set(key, value)
				}
				response, err := client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					b.Fatal(response.Status)
				}
				return response
			}
			session = post(initializeBody).Header.Get("Mcp-Session-Id")
			b.ReportAllocs()
			for b.Loop() {
				post(legacyBody(1, "tools/call", `{"name":"echo","arguments":{"text":"hi"}}`))
			}
		})
		if in != nil {
			in.Close()
		}
	}
}
