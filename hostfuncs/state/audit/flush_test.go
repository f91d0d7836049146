package audit

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A line is on disk a second later, also behind a long time without lines, in which nothing is flushed.
func TestLog_flushesASecondBehindALine(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := New(dir, Options{})
		for n, line := range []string{`"call":"first"`, `"call":"second"`} {
			mark, err := l.Append([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(syncEvery)
			synctest.Wait()
			heads, _, err := latestHeads(dir)
			if head := heads[l.Chain()]; err != nil || head == "" || !strings.HasSuffix(mark.String(), "/"+head) {
				t.Errorf("line %d: got the head %q, %v, want %s", n, head, err, mark)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if len(l.unsynced) != 0 {
				t.Errorf("line %d: got a flush to come, want none without a line", n)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
