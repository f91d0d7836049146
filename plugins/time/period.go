package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// period is a duration in calendar units and seconds. All members have the sign of Negative.
type period struct {
	negative             bool
	years, months, days  int64
	hours, minutes, secs int64
}

// maxUnits prevents overflow. It exceeds the years of any calendar.
const maxUnits = 1 << 40

// exact returns a duration in days of 24 hours, hours, minutes and seconds.
func exact(seconds int64) period {
	p := period{negative: seconds < 0}
	if p.negative {
		seconds = -seconds
	}
	p.days, seconds = seconds/86400, seconds%86400
	p.hours, p.minutes, p.secs = seconds/3600, seconds/60%60, seconds%60
	return p
}

// between returns the calendar difference from a to b: whole years, then months, days, and the rest of the day.
func between(a, b time.Time) period {
	if b.Before(a) {
		p := between(b, a)
		p.negative = true
		return p
	}
	b = b.In(a.Location())
	months := int64(b.Year()-a.Year())*12 + int64(b.Month()-a.Month())
	for months > 0 && later(a, months, 0).After(b) {
		months--
	}
	days := int64(b.Sub(later(a, months, 0))/(24*time.Hour)) + 1
	for days > 0 && later(a, months, days).After(b) {
		days--
	}
	rest := b.Unix() - later(a, months, days).Unix() // may exceed a day where clocks are set back
	return period{years: months / 12, months: months % 12, days: days, hours: rest / 3600, minutes: rest / 60 % 60, secs: rest % 60}
}

// later adds months and then days on the wall clock of t's zone.
func later(t time.Time, months, days int64) time.Time {
	t, _ = laterNoted(t, months, days)
	return t
}

// laterNoted is later with a note about irregularities of the result. Adding nothing returns the same moment, even in
// an ambiguous hour.
func laterNoted(t time.Time, months, days int64) (time.Time, string) {
	if months == 0 && days == 0 {
		return t, ""
	}
	wall := plusMonths(wallOf(t), months).AddDate(0, 0, int(days))
	return atWall(wall, t.Location())
}

// wallOf returns the wall clock time as a time in UTC, which skips none.
func wallOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// plusMonths adds months to a time in UTC, and clips to the end of the month: January 31 plus one month is the last
// day of February.
func plusMonths(t time.Time, months int64) time.Time {
	year, month, day := t.Date()
	first := time.Date(year, month+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(day, last)-1)
}

// addTo adds the period: calendar units first, on the wall clock, and then exact ones.
func (p period) addTo(t time.Time) (time.Time, string, error) {
	sign := int64(1)
	if p.negative {
		sign = -1
	}
	months, days := sign*(p.years*12+p.months), sign*p.days
	if months > 12*10000 || months < -12*10000 || days > 366*10000 || days < -366*10000 {
		return t, "", fmt.Errorf("the duration is longer than 10000 years")
	}
	end, note := laterNoted(t, months, days)
	seconds := sign * (p.hours*3600 + p.minutes*60 + p.secs)
	if seconds > lastUnix || seconds < -lastUnix {
		return t, "", fmt.Errorf("the duration is longer than 10000 years")
	}
	return end.Add(time.Duration(seconds/86400) * 24 * time.Hour).Add(time.Duration(seconds%86400) * time.Second), note, nil
}

// String returns the period in ISO 8601.
func (p period) String() string {
	var b strings.Builder
	if p.negative {
		b.WriteByte('-')
	}
	b.WriteByte('P')
	put := func(n int64, unit string) {
		if n != 0 {
			b.WriteString(strconv.FormatInt(n, 10) + unit)
		}
	}
	put(p.years, "Y")
	put(p.months, "M")
	put(p.days, "D")
	if p.hours != 0 || p.minutes != 0 || p.secs != 0 {
		b.WriteByte('T')
		put(p.hours, "H")
		put(p.minutes, "M")
		put(p.secs, "S")
	}
	if s := b.String(); s != "P" && s != "-P" {
		return s
	}
	return "PT0S"
}

// text returns the period in words.
func (p period) text() string {
	var parts []string
	put := func(n int64, unit string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+unit)
		case n != 0:
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit+"s")
		}
	}
	put(p.years, "year")
	put(p.months, "month")
	put(p.days, "day")
	put(p.hours, "hour")
	put(p.minutes, "minute")
	put(p.secs, "second")
	switch {
	case len(parts) == 0:
		return "no time"
	case p.negative:
		return strings.Join(parts, ", ") + " before"
	}
	return strings.Join(parts, ", ")
}

// parsePeriod parses ISO 8601 (P1DT2H), Go's format (1h30m) and words (3 weeks, 2 days and 1 hour).
func parsePeriod(s string) (period, error) {
	var p period
	rest := strings.ToLower(strings.TrimSpace(s))
	if rest, p.negative = cutSign(rest); rest == "" {
		return p, badPeriod(s)
	}
	iso := rest[0] == 'p'
	inTime := !iso
	for rest = strings.TrimPrefix(rest, "p"); rest != ""; {
		if iso && rest[0] == 't' && !inTime {
			inTime, rest = true, rest[1:]
			continue
		}
		n, unit, after, ok := cutUnit(rest)
		if !ok || !p.put(n, unit, iso && !inTime) {
			return p, badPeriod(s)
		}
		rest = after
	}
	return p, nil
}

func badPeriod(s string) error {
	return fmt.Errorf("%q is not a duration that I can read; write P1Y2M3DT4H5M6S, 1h30m, or 3 weeks 2 days", s)
}

func cutSign(s string) (rest string, negative bool) {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return strings.TrimSpace(rest), true
	}
	return strings.TrimPrefix(s, "+"), false
}

// cutUnit parses a number and its unit at the front.
func cutUnit(s string) (n int64, unit, rest string, ok bool) {
	s = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(s, " ,"), "and "), " ")
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	s = strings.TrimLeft(s[digits:], " ")
	letters := len(s) - len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))
	if letters > 1 && digitFollows(s[:letters]) {
		letters = 1
	}
	return n, s[:letters], strings.TrimLeft(s[letters:], " ,"), err == nil && n <= maxUnits && letters > 0
}

// digitFollows reports whether letters are an ISO date unit and the T of the time part, which follows without a space.
func digitFollows(letters string) bool {
	return len(letters) == 2 && letters[1] == 't'
}

// put adds n of a unit. m means months before ISO's T, and minutes otherwise.
func (p *period) put(n int64, unit string, inDate bool) bool {
	if unit == "ms" { // not minutes
		return false
	}
	switch unit = strings.TrimSuffix(unit, "s"); {
	case unit == "y" || unit == "yr" || unit == "year":
		p.years += n
	case unit == "mo" || unit == "month" || unit == "m" && inDate:
		p.months += n
	case unit == "w" || unit == "wk" || unit == "week":
		p.days += 7 * n
	case unit == "d" || unit == "day":
		p.days += n
	case unit == "h" || unit == "hr" || unit == "hour":
		p.hours += n
	case unit == "m" || unit == "min" || unit == "minute":
		p.minutes += n
	case unit == "" || unit == "sec" || unit == "second":
		p.secs += n
	default:
		return false
	}
	return true
}
