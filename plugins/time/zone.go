package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// zoneNames are the geographic zones of the IANA database, one per line.
//
//go:embed zones.txt
var zoneNames string

// zone returns a time zone. An empty name means the configured one, else UTC.
func zone(name string) (*time.Location, error) {
	if name == "" {
		name = sallyport.Config("TIMEZONE", "UTC")
	}
	if strings.EqualFold(name, "utc") || strings.EqualFold(name, "z") {
		return time.UTC, nil
	}
	if loc, ok := fixedZone(name); ok {
		return loc, nil
	}
	if loc, err := time.LoadLocation(canonical(name)); err == nil && name != "Local" {
		return loc, nil
	}
	return nil, unknownZone(name)
}

// fixedZone parses an offset such as +02:00.
func fixedZone(name string) (*time.Location, bool) {
	t, err := time.Parse("-07:00", strings.TrimPrefix(strings.ToUpper(name), "UTC"))
	if err != nil {
		return nil, false
	}
	_, offset := t.Zone()
	return time.FixedZone("UTC"+t.Format("-07:00"), offset), true
}

// canonical returns the database spelling of a name: Europe/Berlin for europe/berlin.
func canonical(name string) string {
	name = strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	for z := range strings.Lines(zoneNames) {
		if z = strings.TrimSpace(z); strings.EqualFold(z, name) {
			return z
		}
	}
	return name
}

func unknownZone(name string) error {
	like := matching(name[strings.LastIndexByte(name, '/')+1:], 3)
	if len(like) == 0 {
		return fmt.Errorf("there is no time zone %q; names look like Europe/Berlin or +02:00, and the zones tool finds them", name)
	}
	return fmt.Errorf("there is no time zone %q; did you mean %s", name, strings.Join(like, ", "))
}

// matching returns up to n zones with part in their names, ignoring case, with _ for spaces.
func matching(part string, n int) []string {
	part = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(part), " ", "_"))
	var found []string
	for z := range strings.Lines(zoneNames) {
		z = strings.TrimSpace(z)
		if strings.Contains(strings.ToLower(z), part) && len(found) < n {
			found = append(found, z)
		}
	}
	return found
}

type zonesArgs struct {
	Contains string `json:"contains" doc:"a part of the name, such as a city or a continent" minLength:"1"`
}

type zoneRow struct {
	Zone   string `json:"zone"`
	Offset string `json:"offset"`
	Time   string `json:"time" doc:"the local time now"`
}

type zonesResult struct {
	Zones []zoneRow `json:"zones"`
	More  bool      `json:"more,omitempty" doc:"there are more; ask for a longer part"`
}

// maxZones bounds a list, to keep it readable.
const maxZones = 50

func zones(_ *sallyport.Call, a zonesArgs) (zonesResult, error) {
	found := matching(a.Contains, maxZones+1)
	r := zonesResult{Zones: []zoneRow{}, More: len(found) > maxZones}
	instant := time.Now()
	for name := range slices.Values(found[:min(len(found), maxZones)]) {
		loc, err := time.LoadLocation(name)
		if err != nil {
			return r, err
		}
		t := instant.In(loc)
		r.Zones = append(r.Zones, zoneRow{name, t.Format("-07:00"), t.Format("2006-01-02 15:04")})
	}
	return r, nil
}
