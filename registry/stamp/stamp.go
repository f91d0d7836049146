// Package stamp tells what bytes a file holds: by a stamp without reading it, and by the digest of
// bytes that were read while nobody wrote them.
package stamp

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// SettleTime is how long a file must not have changed before it is read: a writer that pauses longer
// is caught by what the bytes look like, and on Linux by asking the kernel.
const SettleTime = 100 * time.Millisecond

// ErrNotRegular is the error for a folder, a device or the like.
var ErrNotRegular = errors.New("not a regular file")

// Stamp tells whether a file may hold other bytes than before, without reading it. Two equal stamps
// mean the same bytes, but for a writer who sets the clock back. The zero Stamp is that of no file.
type Stamp struct {
	Device, Inode uint64 // 0 where the system has none
	Size          int64  // bytes
	Mtime, Ctime  int64  // nanoseconds since 1970; Ctime is 0 where the system has none
	Path          string // stands for Device and Inode where there are none
}

// Of returns the stamp of a regular file; links are followed.
func Of(path string) (Stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	return from(path, info)
}

func from(path string, info os.FileInfo) (Stamp, error) {
	if !info.Mode().IsRegular() {
		return Stamp{}, ErrNotRegular
	}
	s := Stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if !s.identify(info) {
		s.Path = path
	}
	return s, nil
}

// Key is the stamp as text.
func (s Stamp) Key() string {
	return fmt.Sprintf("%d:%d:%d:%d:%d:%s", s.Device, s.Inode, s.Size, s.Mtime, s.Ctime, s.Path)
}

// Age is how long ago the file was changed last; negative if that is in the future.
func (s Stamp) Age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, max(s.Mtime, s.Ctime)))
}

// Quiet is how long a file has surely not changed that has had this stamp since a time.
func (s Stamp) Quiet(since, now time.Time) time.Duration {
	quiet := now.Sub(since)
	if s.Ctime != 0 { // nobody can set it back, so it tells of the time before this process too
		quiet = max(quiet, s.Age(now))
	}
	return quiet
}
