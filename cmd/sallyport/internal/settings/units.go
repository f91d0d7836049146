package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// ParseDuration reads a duration above zero such as 30s or 5m.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration; write one such as 30s", s)
	}
	return d, nil
}

// ParseKeep reads the retention of a log: days such as 90d, bytes such as 1GiB, or both with a comma between them. A
// missing part is 0.
func ParseKeep(s string) (age time.Duration, size int64, err error) {
	const maxDays = 36500
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		digits, isDays := strings.CutSuffix(part, "d")
		var days int
		if isDays {
			if days, err = ParseCount(digits); err == nil && days <= maxDays && age == 0 {
				age = time.Duration(days) * 24 * time.Hour
				continue
			}
		} else if n, err := grant.ParseSize(part); err == nil && size == 0 {
			size = n
			continue
		}
		return 0, 0, fmt.Errorf("%q is neither days nor bytes; write 90d, 1GiB or 90d,1GiB", s)
	}
	return age, size, nil
}

// ParseCount reads a whole number above zero.
func ParseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%q is not a whole number above zero", s)
	}
	return n, nil
}

// ParseRate reads a rate in calls per second, such as 10 or 0.5.
func ParseRate(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || f > 1e6 {
		return 0, fmt.Errorf("%q is not a number of calls a second; write such as 10 or 0.5", s)
	}
	return f, nil
}

// check returns an error if text is not of a kind.
func check(kind Kind, text string) error {
	var err error
	switch kind {
	case Level:
		if !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, text) {
			err = fmt.Errorf("%q is not a level; write trace, debug, info, warn or error", text)
		}
	case Receipt:
		if text != "counts" && text != "full" {
			err = fmt.Errorf("%q is neither counts nor full", text)
		}
	case Ask:
		if !slices.Contains([]string{"off", "refuse", "wait"}, text) {
			err = fmt.Errorf("%q is not an answer to a question; write refuse, wait or off", text)
		}
	case Trace:
		if _, ok := trace.ParseUpstream(text); !ok {
			err = fmt.Errorf("%q is no part of a trace; write parent, state, baggage or off", text)
		}
	case Database:
		if text != "" {
			err = store.CheckURL(text)
		}
	case Keep:
		_, _, err = ParseKeep(text)
	case Bytes:
		_, err = grant.ParseSize(text)
	case Duration:
		_, err = ParseDuration(text)
	case Count:
		_, err = ParseCount(text)
	case Bool:
		if text != "true" && text != "false" {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
	}
	return err
}
