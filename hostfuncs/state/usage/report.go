package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Line is the use of one principal in one window.
type Line struct {
	Principal string
	Begin     time.Time // UTC
	Length    time.Duration
	Amount
}

// Each calls do for each window that a store has, by length, begin and principal.
func Each(ctx context.Context, s *store.Store, do func(Line) error) error {
	for after := ""; ; {
		page, err := s.List(ctx, store.Usage, "", after, 0)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			l, err := lineOf(r)
			if err == nil {
				err = do(l)
			}
			if err != nil {
				return err
			}
			after = r.ID
		}
	}
}

func lineOf(r store.Record) (l Line, err error) {
	parts := strings.SplitN(r.ID, ".", 3)
	if len(parts) != 3 {
		return l, fmt.Errorf("the record %q is none of a window", r.ID)
	}
	length, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return l, fmt.Errorf("the record %q is none of a window", r.ID)
	}
	begin, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return l, fmt.Errorf("the record %q is none of a window", r.ID)
	}
	l = Line{Principal: parts[2], Begin: time.Unix(begin, 0).UTC(), Length: time.Duration(length) * time.Second}
	return l, json.Unmarshal(r.Data, &l.Amount)
}
