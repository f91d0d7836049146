package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/internal/identity"
)

func TestQuotas_areRead(t *testing.T) {
	s, err := Load(Options{File: write(t, `groups:
  ops: ["token:ann"]
quotas:
  - {who: [group:ops], per: 1h, calls: 1000, fuel: 50000000000, bytes: 1GiB, requests: 500}
  - {who: [all], per: 31d}
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := []usage.Quota{{Per: time.Hour, Most: usage.Amount{Calls: 1000, Fuel: 50_000_000_000, Bytes: 1 << 30, Requests: 500}}, {Per: 31 * 24 * time.Hour}}
	for i, q := range s.Quotas {
		if q.Per != want[i].Per || q.Most != want[i].Most {
			t.Errorf("got %+v, want %+v", q, want[i])
		}
	}
	if len(s.Quotas) != 2 || !s.Quotas[0].Who.Has(identity.Identity{Principal: "token:ann"}) || s.Quotas[0].Who.Has(identity.Identity{Principal: "token:bob"}) {
		t.Errorf("got %+v, want a quota of the group ops and one of all", s.Quotas)
	}
}

func TestQuotas_errorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"quotas: 7\n":                                                    "want a list",
		"quotas:\n  - 7\n":                                               ":2",
		"quotas:\n  - {per: 1h}\n":                                       "no caller is named",
		"quotas:\n  - {who: [all]}\n":                                    "per is missing",
		"quotas:\n  - {who: [ops], per: 1h}\n":                           "names no caller",
		"quotas:\n  - {who: [all], per: 59s}\n":                          "no time from 1m0s to 31d",
		"quotas:\n  - {who: [all], per: 32d}\n":                          "no time from",
		"quotas:\n  - {who: [all], per: 99999999999d}\n":                 "no time from",
		"quotas:\n  - {who: [all], per: -1h}\n":                          "no time from",
		"quotas:\n  - {who: [all], per: 90.5s}\n":                        "no time from",
		"quotas:\n  - {who: [all], per: 1h, calls: 0}\n":                 "whole number above zero",
		"quotas:\n  - {who: [all], per: 1h, fuel: 1e9}\n":                "whole number above zero",
		"quotas:\n  - {who: [all], per: 1h, bytes: 5}\n":                 "quotas.bytes",
		"quotas:\n  - {who: [all], per: 1h, call: 5}\n":                  `unknown key "call"`,
		"quotas:\n  - {who: [all], per: 1h, calls: [1]}\n":               ":2",
		"quotas:\n  - {who: [all], per: 1h, requests: 1, requests: 2}\n": "requests",
	} {
		if _, err := Load(Options{File: write(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}
