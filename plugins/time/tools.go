package main

import (
	"errors"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type nowArgs struct {
	Zone  string   `json:"zone,omitempty" doc:"IANA name such as Europe/Berlin, or an offset such as +02:00; the configured zone or UTC if absent"`
	Zones []string `json:"zones,omitempty" doc:"further zones" maxItems:"50"`
}

type nowResult struct {
	moment
	Others []moment `json:"others,omitempty" doc:"the same moment in the further zones"`
}

func now(_ *sallyport.Call, a nowArgs) (nowResult, error) {
	t := time.Now()
	all, err := inZones(t, append([]string{a.Zone}, a.Zones...))
	if err != nil {
		return nowResult{}, err
	}
	return nowResult{all[0], all[1:]}, nil
}

func inZones(t time.Time, names []string) ([]moment, error) {
	all := make([]moment, len(names))
	for i, name := range names {
		loc, err := zone(name)
		if err != nil {
			return nil, err
		}
		if err := inCalendar(t.In(loc)); err != nil {
			return nil, err
		}
		all[i] = show(t.In(loc))
	}
	return all, nil
}

type convertArgs struct {
	Time string   `json:"time" doc:"2026-03-29T14:30:00+02:00, 2026-03-29 14:30, 14:30 (today), now, or seconds since 1970"`
	From string   `json:"from,omitempty" doc:"the zone of a time that names none"`
	To   []string `json:"to" doc:"the zones to convert to" minItems:"1" maxItems:"50"`
}

type convertResult struct {
	From moment   `json:"from"`
	To   []moment `json:"to"`
	Note string   `json:"note,omitempty" doc:"a peculiarity of the time: it happens twice that day, or never"`
}

func convert(_ *sallyport.Call, a convertArgs) (convertResult, error) {
	t, note, err := read(a.Time, a.From)
	if err != nil {
		return convertResult{}, err
	}
	to, err := inZones(t, a.To)
	return convertResult{show(t), to, note}, err
}

// read parses a time and its zone.
func read(s, zoneName string) (time.Time, string, error) {
	loc, err := zone(zoneName)
	if err != nil {
		return time.Time{}, "", err
	}
	return parse(s, loc, time.Now())
}

type differenceArgs struct {
	From string `json:"from" doc:"a time as in convert"`
	To   string `json:"to,omitempty" doc:"a time as in convert; now if absent"`
	Zone string `json:"zone,omitempty" doc:"the zone of times that name none, and in which days are counted"`
}

type differenceResult struct {
	Seconds  int64   `json:"seconds" doc:"exact; negative if to is before from"`
	Days     float64 `json:"days" doc:"the seconds in days of 24 hours"`
	Duration string  `json:"duration" doc:"ISO 8601, exact"`
	Calendar string  `json:"calendar" doc:"ISO 8601, in years, months and days as the calendar has them"`
	Text     string  `json:"text"`
	Note     string  `json:"note,omitempty"`
}

func difference(_ *sallyport.Call, a differenceArgs) (differenceResult, error) {
	loc, err := zone(a.Zone)
	if err != nil {
		return differenceResult{}, err
	}
	instant := time.Now()
	from, note, err := parse(a.From, loc, instant)
	to, note2, err2 := parse(a.To, loc, instant)
	if err = errors.Join(err, err2); err != nil {
		return differenceResult{}, err
	}
	p := between(from.In(loc), to.In(loc))
	seconds := to.Unix() - from.Unix()
	return differenceResult{
		Seconds: seconds, Days: float64(seconds) / 86400, Duration: exact(seconds).String(),
		Calendar: p.String(), Text: p.text(), Note: join(note, note2),
	}, nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

type addArgs struct {
	Time     string `json:"time,omitempty" doc:"a time as in convert; now if absent"`
	Duration string `json:"duration" doc:"P1Y2M3DT4H5M6S, 1h30m, 3 weeks 2 days, or one of these with a minus before it"`
	Zone     string `json:"zone,omitempty" doc:"the zone of a time that names none, and of the result"`
}

type addResult struct {
	From   moment `json:"from"`
	Result moment `json:"result"`
	Note   string `json:"note,omitempty"`
}

func add(_ *sallyport.Call, a addArgs) (addResult, error) {
	t, note, err := read(a.Time, a.Zone)
	if err != nil {
		return addResult{}, err
	}
	p, err := parsePeriod(a.Duration)
	if err != nil {
		return addResult{}, err
	}
	end, note2, err := p.addTo(t)
	if err != nil {
		return addResult{}, err
	}
	if err := inCalendar(end); err != nil {
		return addResult{}, err
	}
	return addResult{show(t), show(end), join(note, note2)}, nil
}
