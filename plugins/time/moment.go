package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// moment is how this plugin shows a time.
type moment struct {
	Time    string `json:"time" doc:"RFC 3339, with the zone's offset"`
	Zone    string `json:"zone"`
	Weekday string `json:"weekday"`
	Offset  string `json:"offset" doc:"from UTC"`
	Abbrev  string `json:"abbreviation,omitempty"`
	DST     bool   `json:"dst" doc:"daylight saving time is in force"`
	Unix    int64  `json:"unix" doc:"seconds since 1970-01-01 UTC"`
	Week    string `json:"week" doc:"ISO 8601 week"`
}

func show(t time.Time) moment {
	abbrev, _ := t.Zone()
	if strings.ContainsAny(abbrev, "+-0123456789") {
		abbrev = "" // the offset again
	}
	year, week := t.ISOWeek()
	return moment{
		Time: t.Format(time.RFC3339), Zone: t.Location().String(), Weekday: t.Weekday().String(),
		Offset: t.Format("-07:00"), Abbrev: abbrev, DST: t.IsDST(), Unix: t.Unix(),
		Week: fmt.Sprintf("%d-W%02d", year, week),
	}
}

// The forms of a time without a zone, with and without a date.
var (
	dateForms  = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}
	clockForms = []string{"15:04:05", "15:04", "3:04PM", "3PM", "3:04 PM", "3 PM"}
	zoneForms  = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", time.RFC1123Z, time.RFC1123}
)

// parse reads a time; one without a zone is in loc. The note says what is odd about it, if anything.
func parse(s string, loc *time.Location, now time.Time) (t time.Time, note string, err error) {
	s = strings.TrimSpace(s)
	if s == "" || strings.EqualFold(s, "now") {
		return now.In(loc), "", nil
	}
	if n, err := strconv.ParseInt(strings.TrimPrefix(s, "@"), 10, 64); err == nil && (s[0] == '@' || len(s) > 4) {
		return unix(n, loc)
	}
	for _, form := range zoneForms {
		if t, err := time.Parse(form, s); err == nil {
			return t, "", nil
		}
	}
	return parseLocal(s, loc, now)
}

// lastUnix is the last second that RFC 3339 can write: the end of the year 9999.
const lastUnix = 253402300799

func unix(n int64, loc *time.Location) (time.Time, string, error) {
	if n > lastUnix || n < -lastUnix {
		return time.Time{}, "", fmt.Errorf("%d is too far away for a time in seconds", n)
	}
	return time.Unix(n, 0).In(loc), "", nil
}

func parseLocal(s string, loc *time.Location, now time.Time) (time.Time, string, error) {
	for _, form := range dateForms {
		if wall, err := time.Parse(form, s); err == nil {
			return atWall(wall, loc)
		}
	}
	year, month, day := now.In(loc).Date()
	for _, form := range clockForms {
		if wall, err := time.Parse(form, strings.ToUpper(s)); err == nil {
			return atWall(time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC), loc)
		}
	}
	return time.Time{}, "", fmt.Errorf("%q is not a time that I can read; write 2026-03-29T14:30:00+02:00, 2026-03-29 14:30, 14:30, now or seconds since 1970", s)
}

// atWall is the moment when the clocks in loc show wall. They show some times twice, of which the first is
// meant, and some never.
func atWall(wall time.Time, loc *time.Location) (time.Time, string, error) {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, loc)
	const form = "2006-01-02 15:04:05"
	if t.Format(form) != wall.Format(form) {
		note := fmt.Sprintf("the clocks in %s skip %s; %s is meant", loc, wall.Format(form), t.Format(time.RFC3339))
		return t, note, nil
	}
	for _, shift := range []time.Duration{-time.Hour, time.Hour, -30 * time.Minute, 30 * time.Minute} {
		if other := t.Add(shift); other.Format(form) == wall.Format(form) {
			if other.Before(t) {
				t, other = other, t
			}
			note := fmt.Sprintf("the clocks in %s show %s twice; this is %s, the other is %s",
				loc, wall.Format(form), t.Format(time.RFC3339), other.Format(time.RFC3339))
			return t, note, nil
		}
	}
	return t, "", nil
}
