package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	loc, err := zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParse_readsTimes(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		"now":                             "2026-07-01T14:00:00+02:00",
		"":                                "2026-07-01T14:00:00+02:00",
		"2026-03-01T10:00:00Z":            "2026-03-01T10:00:00Z",
		"2026-03-01 10:00:00+05:30":       "2026-03-01T10:00:00+05:30",
		"2026-03-01T10:00":                "2026-03-01T10:00:00+01:00",
		"2026-08-01 10:00:30":             "2026-08-01T10:00:30+02:00",
		"2026-03-01":                      "2026-03-01T00:00:00+01:00",
		"09:30":                           "2026-07-01T09:30:00+02:00",
		"3:04 pm":                         "2026-07-01T15:04:00+02:00",
		"@0":                              "1970-01-01T01:00:00+01:00",
		"1700000000":                      "2023-11-14T23:13:20+01:00",
		"Mon, 02 Jan 2006 15:04:05 -0700": "2006-01-02T15:04:05-07:00",
	} {
		got, note, err := parse(in, berlin(t), noon)
		if err != nil || note != "" || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v %q %v, want %s", in, got.Format(time.RFC3339), note, err, want)
		}
	}
	for _, in := range []string{"soon", "2026-13-01", "25:00", "@99999999999999", "1430"} {
		if got, _, err := parse(in, time.UTC, noon); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}

func TestParse_notesClockChanges(t *testing.T) {
	for in, want := range map[string][2]string{
		"2026-03-29 02:30": {"2026-03-29T03:30:00+02:00", "skip 2026-03-29 02:30:00"},
		"2026-10-25 02:30": {"2026-10-25T02:30:00+02:00", "twice; this is 2026-10-25T02:30:00+02:00, the other is 2026-10-25T02:30:00+01:00"},
		"2026-10-25 03:00": {"2026-10-25T03:00:00+01:00", ""},
	} {
		got, note, err := parse(in, berlin(t), time.Now())
		if err != nil || got.Format(time.RFC3339) != want[0] || !strings.Contains(note, want[1]) || note != "" && want[1] == "" {
			t.Errorf("%s: got %s with note %q, %v; want %q", in, got.Format(time.RFC3339), note, err, want)
		}
	}
}

// Times and sums around unusual clock changes.
func TestAdd_followsClockChanges(t *testing.T) {
	for _, c := range [][5]string{
		{"Australia/Sydney", "2028-10-15 02:30", "PT0S", "2028-10-15T02:30:00+11:00", ""}, // the clocks skip 02:30 on the 1st of that month
		{"America/New_York", "2026-11-01T01:30:00-05:00", "PT0S", "2026-11-01T01:30:00-05:00", ""},
		{"America/New_York", "2026-10-31 01:30", "P1D", "2026-11-01T01:30:00-04:00", "twice"},
		{"America/New_York", "2026-03-07 02:30", "P1D", "2026-03-08T03:30:00-04:00", "skip"},
		{"Pacific/Apia", "2011-12-29 12:00", "P1D", "2011-12-31T12:00:00+14:00", "skip"},
		{"Antarctica/Troll", "2026-10-24 02:00", "P1D", "2026-10-25T02:00:00+02:00", "twice"}, // a change by two hours
		{"Australia/Lord_Howe", "2026-10-04 02:15", "PT0S", "2026-10-04T02:45:00+11:00", ""},
	} {
		loc, err := zone(c[0])
		if err != nil {
			t.Fatal(err)
		}
		start, _, err := parse(c[1], loc, time.Now())
		p, err2 := parsePeriod(c[2])
		if err != nil || err2 != nil {
			t.Fatalf("got %v, %v; want no error, no error", err, err2)
		}
		end, note, err := p.addTo(start.In(loc))
		if err != nil || end.Format(time.RFC3339) != c[3] || !strings.Contains(note, c[4]) || c[4] == "" && note != "" {
			t.Errorf("%s %s + %s: %s %q %v, want %s %q", c[0], c[1], c[2], end.Format(time.RFC3339), note, err, c[3], c[4])
		}
	}
}

func TestParse_readsDatesOfMail(t *testing.T) {
	for in, want := range map[string]string{
		"Mon, 02 Jan 2006 15:04:05 EST": "2006-01-02T15:04:05-05:00",
		"Mon, 02 Jan 2006 15:04:05 pdt": "2006-01-02T15:04:05-07:00",
		"Mon, 02 Jan 2006 15:04:05 GMT": "2006-01-02T15:04:05Z",
		"Mon, 02 Jan 2006 15:04:05 IST": `"IST" names more than one zone, or none`,
		"@-99999999999":                 "outside of the years 1 to 9999",
		"@253402300799":                 "that is in the year 10000 of Asia/Tokyo",
	} {
		loc, err := zone("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := parse(in, loc, time.Now())
		if err == nil && got.Format(time.RFC3339) != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %s", in, got.Format(time.RFC3339), err, want)
		}
	}
}

// Summer time is ahead of winter time, even where the database marks winter as the exception.
func TestIsSummer_isAheadOfWinter(t *testing.T) {
	for _, c := range []struct {
		zone        string
		june, north bool
	}{{"Europe/Dublin", true, false}, {"Europe/Berlin", true, false}, {"Australia/Sydney", false, true}, {"Asia/Tokyo", false, false}, {"Africa/Casablanca", false, false}} {
		loc, err := zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		june, december := time.Date(2026, 6, 20, 12, 0, 0, 0, loc), time.Date(2026, 12, 20, 12, 0, 0, 0, loc)
		if isSummer(june) != c.june || isSummer(december) != c.north {
			t.Errorf("%s: got June %v, December %v; want %v, %v", c.zone, isSummer(june), isSummer(december), c.june, c.north)
		}
	}
}

func TestDifference_tellsRepeatedHoursApart(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	var d differenceResult
	h.Call("difference", `{"from":"2026-11-01T01:30:00-04:00","to":"2026-11-01T01:30:00-05:00","zone":"America/New_York"}`).Into(&d)
	if d.Seconds != 3600 || d.Calendar != "PT1H" || d.Text != "1 hour" {
		t.Errorf("got %+v, want 3600 s, PT1H, 1 hour", d)
	}
}

func TestZone_findsNamesAndTheConfiguredZone(t *testing.T) {
	for name, want := range map[string]string{
		"": "UTC", "utc": "UTC", "europe/berlin": "Europe/Berlin", "America/New York": "America/New_York",
		"+02:00": "UTC+02:00", "UTC-05:30": "UTC-05:30", "EST5EDT": "EST5EDT",
	} {
		loc, err := zone(name)
		if err != nil || loc.String() != want {
			t.Errorf("%q: got %v, %v; want %v", name, loc, err, want)
		}
	}
	for name, want := range map[string]string{
		"Local":         "there is no time zone",
		"Europe/Berlyn": "the zones tool finds them",
		"berlin":        "did you mean Europe/Berlin",
		"../etc/passwd": "there is no time zone",
	} {
		if _, err := zone(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", name, err, want)
		}
	}
	t.Setenv("TIMEZONE", "Asia/Tokyo")
	if loc, err := zone(""); err != nil || loc.String() != "Asia/Tokyo" {
		t.Errorf("the configured zone: got %v, %v; want Asia/Tokyo", loc, err)
	}
}

// Every offered zone exists.
func TestZoneNames_exist(t *testing.T) {
	n := 0
	for name := range strings.Lines(zoneNames) {
		n++
		if _, err := time.LoadLocation(strings.TrimSpace(name)); err != nil {
			t.Error(err)
		}
	}
	if n < 400 {
		t.Errorf("got %d zones, want at least 400", n)
	}
}

func TestParsePeriod_readsPeriods(t *testing.T) {
	for in, want := range map[string]string{
		"P1Y2M3DT4H5M6S": "P1Y2M3DT4H5M6S", "PT90M": "PT90M", "P2W": "P14D", "-P1D": "-P1D", "p1dt2h": "P1DT2H", "P1M": "P1M",
		"1h30m": "PT1H30M", "45s": "PT45S", "3 weeks 2 days": "P23D", "1 month, 2 hours and 5 minutes": "P1MT2H5M",
		"- 2 years": "-P2Y", "+1d": "P1D", "0s": "PT0S", "2 mo": "P2M",
	} {
		p, err := parsePeriod(in)
		if err != nil || p.String() != want {
			t.Errorf("%q: %s %v, want %s", in, p, err, want)
		}
	}
	for _, in := range []string{"", "-", "1", "h", "1 fortnight", "1h x", "500ms", "1.5h", "99999999999999999999h", "P1DT2H3"} {
		if p, err := parsePeriod(in); err == nil {
			t.Errorf("%q: got %s, want an error", in, p)
		}
	}
}

// A formatted period parses to the same value.
func FuzzParsePeriod(f *testing.F) {
	for _, s := range []string{"P1Y2M3DT4H5M6S", "-1h30m", "3 weeks and 2 days", "P1DT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePeriod(s)
		if err != nil {
			return
		}
		again, err := parsePeriod(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q: got %s, %v when read again; want %s", s, again, err, p)
		}
		_, _, _ = p.addTo(time.Unix(0, 0))
	})
}

func TestBetween_returnsThePeriod(t *testing.T) {
	for _, c := range [][3]string{
		{"2024-01-31", "2024-03-01", "P1M1D"},
		{"2024-02-29", "2025-02-28", "P1Y"}, // the last day of February, a year later
		{"2026-01-01", "2026-01-01", "PT0S"},
		{"2026-03-28 12:00", "2026-03-29 12:00", "P1D"}, // 23 hours
		{"2026-05-01", "2026-04-30 23:59:59", "-PT1S"},
		{"1900-01-01", "2026-07-04 10:00", "P126Y6M3DT10H"},
	} {
		from, _, err := parse(c[0], berlin(t), time.Now())
		to, _, err2 := parse(c[1], berlin(t), time.Now())
		if err != nil || err2 != nil {
			t.Fatalf("got %v, %v; want no error, no error", err, err2)
		}
		if got := between(from, to).String(); got != c[2] {
			t.Errorf("%s to %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// The first time plus the difference is the second time.
func TestBetween_isTheInverseOfAdd(t *testing.T) {
	loc := berlin(t)
	start := time.Date(2023, 11, 30, 17, 45, 12, 0, loc)
	for i := range 500 {
		end := start.Add(time.Duration(i*i) * 7 * time.Hour)
		got, _, err := between(start, end).addTo(start)
		if err != nil || !got.Equal(end) {
			t.Fatalf("%v + %s = %v, want %v", start, between(start, end), got, end)
		}
	}
}

func TestTools_returnTimes(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	var n nowResult
	h.Call("now", `{"zone":"Asia/Kolkata","zones":["UTC","-03:00"]}`).Into(&n)
	if n.Offset != "+05:30" || n.Zone != "Asia/Kolkata" || len(n.Others) != 2 || n.Others[1].Offset != "-03:00" || n.Unix != n.Others[0].Unix {
		t.Errorf("now: got %+v, want +05:30 in Asia/Kolkata and two others at one instant, the second at -03:00", n)
	}
	if got, err := time.Parse(time.RFC3339, n.Time); err != nil || time.Since(got).Abs() > time.Minute {
		t.Errorf("now: got %s, %v; want a time within a minute", n.Time, err)
	}
	var c convertResult
	h.Call("convert", `{"time":"2026-07-01 09:00","from":"America/New_York","to":["Asia/Tokyo","Europe/London"]}`).Into(&c)
	if c.From.Abbrev != "EDT" || !c.From.DST || c.To[0].Time != "2026-07-01T22:00:00+09:00" || c.To[1].Time != "2026-07-01T14:00:00+01:00" || c.To[0].Week != "2026-W27" {
		t.Errorf("convert: got %+v, want EDT to 2026-07-01T22:00:00+09:00 of 2026-W27 and 2026-07-01T14:00:00+01:00", c)
	}
	var d differenceResult
	h.Call("difference", `{"from":"2026-01-01","to":"2026-03-03 12:00"}`).Into(&d)
	if d.Seconds != 5313600 || d.Days != 61.5 || d.Duration != "P61DT12H" || d.Calendar != "P2M2DT12H" || d.Text != "2 months, 2 days, 12 hours" {
		t.Errorf("difference: got %+v, want 5313600 s, 61.5 days, P61DT12H, P2M2DT12H", d)
	}
	var a addResult
	h.Call("add", `{"time":"2026-01-31 10:00","duration":"P1M","zone":"Europe/Paris"}`).Into(&a)
	if a.Result.Time != "2026-02-28T10:00:00+01:00" || a.Note != "" {
		t.Errorf("add: got %+v, want 2026-02-28T10:00:00+01:00 without a note", a)
	}
	h.Call("add", `{"time":"2026-03-28 02:30","duration":"1 day","zone":"Europe/Paris"}`).Into(&a)
	if a.Result.Time != "2026-03-29T03:30:00+02:00" || !strings.Contains(a.Note, "skip") {
		t.Errorf("add over a gap: got %+v, want 2026-03-29T03:30:00+02:00 with a note of the skip", a)
	}
	var z zonesResult
	h.Call("zones", `{"contains":"new york"}`).Into(&z)
	if len(z.Zones) != 1 || z.Zones[0].Zone != "America/New_York" || z.More {
		t.Errorf("zones: got %+v, want only America/New_York", z)
	}
	h.Call("zones", `{"contains":"a"}`).Into(&z)
	if len(z.Zones) != maxZones || !z.More {
		t.Errorf("zones: got %d, more %v; want %d, more true", len(z.Zones), z.More, maxZones)
	}
}

func TestTools_explainErrors(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for _, c := range [][3]string{
		{"now", `{"zone":"Mars/Base"}`, "there is no time zone"},
		{"convert", `{"time":"soon","to":["UTC"]}`, "not a time that I can read"},
		{"convert", `{"time":"now","to":["Nowhere"]}`, "there is no time zone"},
		{"difference", `{"from":"soon","to":"later"}`, "\"later\" is not a time"},
		{"add", `{"duration":"a while"}`, "not a duration that I can read"},
		{"add", `{"duration":"9999 years"}`, "outside of 1 to 9999"},
		{"add", `{"duration":"99999999 years"}`, "longer than 10000 years"},
		{"add", `{"duration":"999999999999 hours"}`, "longer than 10000 years"},
	} {
		if r := h.Call(c[0], c[1]); !r.IsError || !strings.Contains(r.Text(), c[2]) {
			t.Errorf("%s %s: got %s, want an error with %q", c[0], c[1], r.Raw, c[2])
		}
	}
}
