package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// quotasKey is the section with the quotas of callers.
const quotasKey = "quotas"

// maxQuotas limits the quotas: each call is compared with all of them.
const maxQuotas = 256

// readQuotas reads the section quotas; nil if absent:
//
//	quotas:
//	  - who: [all]
//	    per: 1h
//	    calls: 1000
//	    fuel: 50000000000
//	    bytes: 1GiB
//	    requests: 500
func readQuotas(root *strictyaml.Node) (all []usage.Quota, err error) {
	if root == nil {
		return nil, nil
	}
	key, section := root.Member(quotasKey)
	if key == nil {
		return nil, nil
	}
	known, err := readGroups(root)
	if err != nil {
		return nil, err
	}
	if section.Kind != strictyaml.Sequence || len(section.Items) > maxQuotas {
		return nil, key.Errorf("quotas: want a list of at most %d, such as - {who: [all], per: 1h, calls: 1000}", maxQuotas)
	}
	for _, item := range section.Items {
		q, err := readQuota(item, known)
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

func readQuota(n *strictyaml.Node, known groups) (q usage.Quota, err error) {
	var who []string
	if n.Kind != strictyaml.Mapping {
		return q, n.Errorf("quotas: want {who: [all], per: 1h, calls: 1000}")
	}
	err = n.Each(quotasKey, func(k, v *strictyaml.Node) (err error) {
		if k.Text == "who" {
			who, err = v.Texts("quotas.who")
			return err
		}
		text, err := v.Scalar("quotas." + k.Text)
		if err != nil {
			return err
		}
		switch k.Text {
		case "per":
			q.Per, err = parseWindow(text)
		case "calls":
			q.Most.Calls, err = parseAmount(text)
		case "fuel":
			q.Most.Fuel, err = parseAmount(text)
		case "requests":
			q.Most.Requests, err = parseAmount(text)
		case "bytes":
			q.Most.Bytes, err = grant.ParseSize(text)
		default:
			return k.Errorf("unknown key %q in quotas%s", k.Text, strictyaml.Hint(k.Text, []string{"who", "per", "calls", "fuel", "bytes", "requests"}))
		}
		if err != nil {
			err = v.Errorf("quotas.%s: %v", k.Text, err)
		}
		return err
	})
	if err == nil && q.Per == 0 {
		err = n.Errorf("quotas: per is missing: write such as per: 1h")
	}
	if err != nil {
		return q, err
	}
	if q.Who, err = known.who(who); err != nil {
		err = n.Errorf("quotas.who: %v", err)
	}
	return q, err
}

// parseWindow reads the length of a window, such as 1h or 30d.
func parseWindow(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if digits, days := strings.CutSuffix(s, "d"); days {
		var n int
		n, err = ParseCount(digits)
		d = time.Duration(min(n, 1000)) * 24 * time.Hour
	}
	if err != nil || d < usage.MinWindow || d > usage.MaxWindow || d%time.Second != 0 {
		return 0, fmt.Errorf("%q is no time from %v to 31d in whole seconds; write one such as 1h or 30d", s, usage.MinWindow)
	}
	return d, nil
}

// parseAmount reads a whole number above zero.
func parseAmount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a whole number above zero", s)
	}
	return n, nil
}
