package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// moment is a time in the results of this plugin.
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
		abbrev = "" // it only repeats the offset
	}
	year, week := t.ISOWeek()
	return moment{
		Time: t.Format(time.RFC3339), Zone: t.Location().String(), Weekday: t.Weekday().String(),
		Offset: t.Format("-07:00"), Abbrev: abbrev, DST: isSummer(t), Unix: t.Unix(),
		Week: fmt.Sprintf("%d-W%02d", year, week),
	}
}

// Formats of a time without a zone, with and without a date.
var (
	dateForms  = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}
	clockForms = []string{"15:04:05", "15:04", "3:04PM", "3PM", "3:04 PM", "3 PM"}
	zoneForms  = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", time.RFC1123Z}
	mailForm   = "Mon, 02 Jan 2006 15:04:05"
)

// mailZones returns the zones named in RFC 5322 §4.3, in hours from UTC. Other letters have no meaning.
func mailZones() map[string]int {
	return map[string]int{"GMT": 0, "UT": 0, "UTC": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
}

// parse parses a time. One without a zone is in loc. The note describes an irregularity, such as a time skipped by a
// clock change, and may be empty.
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
			return t, "", inCalendar(t)
		}
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 {
		if t, err := time.Parse(mailForm, s[:i]); err == nil {
			t, err := inMailZone(t, s[i+1:])
			return t, "", err
		}
	}
	return parseLocal(s, loc, now)
}

// inMailZone returns the moment of a wall clock time in a zone of RFC 5322.
func inMailZone(wall time.Time, zone string) (time.Time, error) {
	hours, ok := mailZones()[strings.ToUpper(zone)]
	if !ok {
		return wall, fmt.Errorf("%q names more than one zone, or none; write an offset such as +0100 in its place", zone)
	}
	if hours == 0 {
		return wall, nil
	}
	return wall.Add(-time.Duration(hours) * time.Hour).In(time.FixedZone(strings.ToUpper(zone), hours*3600)), nil
}

// First and last second of the years 1 to 9999 in UTC.
const (
	firstUnix = -62135596800
	lastUnix  = 253402300799
)

func unix(n int64, loc *time.Location) (time.Time, string, error) {
	if n > lastUnix || n < firstUnix {
		return time.Time{}, "", fmt.Errorf("%d is too far away for a time in seconds: it is outside of the years 1 to 9999", n)
	}
	t := time.Unix(n, 0).In(loc)
	return t, "", inCalendar(t)
}

// inCalendar returns an error for a time that RFC 3339 cannot represent in its zone.
func inCalendar(t time.Time) error {
	if y := t.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("that is in the year %d of %s, outside of 1 to 9999", y, t.Location())
	}
	return nil
}

func parseLocal(s string, loc *time.Location, now time.Time) (time.Time, string, error) {
	for _, form := range dateForms {
		if wall, err := time.Parse(form, s); err == nil {
			t, note := atWall(wall, loc)
			return t, note, inCalendar(t)
		}
	}
	year, month, day := now.In(loc).Date()
	for _, form := range clockForms {
		if wall, err := time.Parse(form, strings.ToUpper(s)); err == nil {
			t, note := atWall(time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC), loc)
			return t, note, nil
		}
	}
	return time.Time{}, "", fmt.Errorf("%q is not a time that I can read; write 2026-03-29T14:30:00+02:00, 2026-03-29 14:30, 14:30, now or seconds since 1970", s)
}

// atWall returns the moment of a wall clock time in loc. wall is in UTC. Of an ambiguous time it returns the first. A
// skipped time is shifted to the same distance after the change.
func atWall(wall time.Time, loc *time.Location) (time.Time, string) {
	const form = "2006-01-02 15:04:05"
	before, after := offsets(wall, loc)
	first, second := wall.Add(-before).In(loc), wall.Add(-after).In(loc) // by the offset before the change, and after it
	switch ok1, ok2 := shows(first, wall), shows(second, wall); {
	case !ok1 && !ok2:
		return first, fmt.Sprintf("the clocks in %s skip %s; %s is meant", loc, wall.Format(form), first.Format(time.RFC3339))
	case !ok1:
		return second, ""
	case !ok2 || first.Equal(second):
		return first, ""
	}
	return first, fmt.Sprintf("the clocks in %s show %s twice; this is %s, the other is %s",
		loc, wall.Format(form), first.Format(time.RFC3339), second.Format(time.RFC3339))
}

// shows reports whether the wall clock shows wall at t.
func shows(t, wall time.Time) bool { return wallOf(t).Equal(wall) }

// offsets returns those from UTC before and after the clock change nearest to wall, which are equal if there is none.
func offsets(wall time.Time, loc *time.Location) (before, after time.Duration) {
	at := wall.In(loc)
	at = wall.Add(-offset(at)).In(loc)
	start, end := at.ZoneBounds()
	const near = 26 * time.Hour // no change is larger
	switch {
	case !start.IsZero() && at.Sub(start) < near && (end.IsZero() || at.Sub(start) <= end.Sub(at)):
		return offset(start.Add(-1)), offset(start)
	case !end.IsZero() && end.Sub(at) < near:
		return offset(end.Add(-1)), offset(end)
	}
	return offset(at), offset(at)
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// isSummer reports whether the clocks are ahead of winter time. The database marks winter as the exception for some
// zones, such as Europe/Dublin. A month of different time, as in Morocco, is not winter.
func isSummer(t time.Time) bool {
	start, end := t.ZoneBounds()
	for _, beside := range []time.Time{start.Add(-1), end} {
		if beside.IsZero() || beside.Add(1).IsZero() || beside.IsDST() == t.IsDST() {
			continue
		}
		if t.IsDST() {
			return offset(t) > offset(beside)
		}
		from, to := beside.ZoneBounds()
		const season = 60 * 24 * time.Hour // a period ends with the year if only rules define it
		return offset(t) > offset(beside) && !from.IsZero() && !to.IsZero() && to.Sub(from) > season
	}
	return t.IsDST()
}
