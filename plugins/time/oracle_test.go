//go:build oracle

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sum is one input for Python: a wall clock time in a zone, and a period to add.
type sum struct {
	Zone, Wall            string
	Months, Days, Seconds int64
}

// answer is Python's output: moments in seconds since 1970, and the offset of the second in seconds.
type answer struct {
	Unix, End, Offset int64
	Skip              bool // outside of Python's calendar
}

const python = `
import sys, json, datetime, calendar
from zoneinfo import ZoneInfo
utc = datetime.timezone.utc
epoch = datetime.datetime(1970, 1, 1, tzinfo=utc)
def seconds(t):
    return round((t.astimezone(utc) - epoch) / datetime.timedelta(seconds=1))
for line in sys.stdin:
    q = json.loads(line)
    try:
        zone = ZoneInfo(q["Zone"])
        wall = datetime.datetime.fromisoformat(q["Wall"])
        start = wall.replace(tzinfo=zone)
        end = start
        if q["Months"] or q["Days"]:
            month = wall.year * 12 + wall.month - 1 + q["Months"]
            year, month = month // 12, month % 12 + 1
            shown = start.astimezone(utc).astimezone(zone).replace(tzinfo=None)
            month = shown.year * 12 + shown.month - 1 + q["Months"]
            year, month = month // 12, month % 12 + 1
            day = min(shown.day, calendar.monthrange(year, month)[1])
            end = (shown.replace(year=year, month=month, day=day) + datetime.timedelta(days=q["Days"])).replace(tzinfo=zone, fold=0)
        end = (end.astimezone(utc) + datetime.timedelta(seconds=q["Seconds"])).astimezone(zone)
        print(json.dumps({"Unix": seconds(start), "End": seconds(end), "Offset": round(end.utcoffset().total_seconds())}))
    except (ValueError, OverflowError):
        print(json.dumps({"Skip": True}))
`

// goZones unpacks Go's time zones, so that both sides use the same data.
func goZones(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip")
	t.Setenv("ZONEINFO", file)
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sums returns random inputs, half of them within hours of a clock change.
func sums(t *testing.T, random *rand.Rand, n int) []sum {
	t.Helper()
	names := strings.Fields(zoneNames)
	var all []sum
	for len(all) < n {
		name := names[random.IntN(len(names))]
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(random.Int64N(8e9)-4e9, 0).In(loc)
		if _, end := at.ZoneBounds(); len(all)%2 == 0 && !end.IsZero() {
			at = end.Add(time.Duration(random.IntN(6*3600)-3*3600) * time.Second).In(loc)
		}
		s := sum{Zone: name, Wall: wallOf(at).Add(time.Duration(random.IntN(3)-1) * 30 * time.Minute).Format("2006-01-02T15:04:05")}
		if random.IntN(2) == 0 {
			s.Months = random.Int64N(60) - 30
		}
		if random.IntN(2) == 0 {
			s.Days = random.Int64N(400) - 200
		}
		if random.IntN(2) == 0 {
			s.Seconds = random.Int64N(200000) - 100000
		}
		all = append(all, s)
	}
	return all
}

// Times in zones, and sums of times and periods, equal those of Python's zoneinfo, for random inputs in every zone.
func TestOracle_agreesWithZoneinfo(t *testing.T) {
	dir := goZones(t)
	random := rand.New(rand.NewPCG(20, 26))
	all := sums(t, random, 20_000)
	var in bytes.Buffer
	for _, s := range all {
		_ = json.NewEncoder(&in).Encode(s)
	}
	c := exec.Command("python3", "-c", python)
	c.Env = append(os.Environ(), "PYTHONTZPATH="+dir)
	c.Stdin, c.Stderr = &in, os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(bytes.NewReader(out))
	compared, wrong := 0, 0
	for _, s := range all {
		var want answer
		if err := answers.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if want.Skip {
			continue
		}
		compared++
		if problem := differsFrom(s, want); problem != "" {
			if wrong++; wrong < 20 {
				t.Errorf("%+v: %s", s, problem)
			}
		}
	}
	t.Logf("%d sums compared, %d differ", compared, wrong)
	if compared < 15_000 {
		t.Errorf("only %d sums were compared", compared)
	}
}

func differsFrom(s sum, want answer) string {
	loc, err := time.LoadLocation(s.Zone)
	if err != nil {
		return err.Error()
	}
	start, _, err := parse(s.Wall, loc, time.Time{})
	if err != nil {
		return err.Error()
	}
	if start.Unix() != want.Unix {
		return fmt.Sprintf("it is %s, and to Python %s", start.Format(time.RFC3339), time.Unix(want.Unix, 0).In(loc).Format(time.RFC3339))
	}
	end := later(start, s.Months, s.Days).Add(time.Duration(s.Seconds) * time.Second)
	if end.Unix() != want.End || offset(end) != time.Duration(want.Offset)*time.Second {
		return fmt.Sprintf("the sum is %s, and to Python %s", end.Format(time.RFC3339), time.Unix(want.End, 0).In(loc).Format(time.RFC3339))
	}
	if forth := between(start, end); !end.Before(start) {
		if back, _, err := forth.addTo(start); err != nil || !back.Equal(end) {
			return fmt.Sprintf("%s between it and %s, which added is %s, %v", forth, end.Format(time.RFC3339), back.Format(time.RFC3339), err)
		}
	}
	return ""
}
