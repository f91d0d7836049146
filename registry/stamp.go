package registry

import (
	"fmt"
	"os"
	"time"
)

// stamp tells whether a file may hold other bytes than before, without reading it. Two equal stamps
// mean the same bytes, but for a writer who sets the clock back.
type stamp struct {
	device, inode uint64 // 0 where the system has none
	size          int64
	mtime, ctime  int64  // nanoseconds
	path          string // stands for device and inode where there are none
}

// stampOf returns the stamp of a regular file; links are followed.
func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stampFrom(path, info)
}

func stampFrom(path string, info os.FileInfo) (stamp, error) {
	if !info.Mode().IsRegular() {
		return stamp{}, errNotRegular
	}
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if !s.identify(info) {
		s.path = path
	}
	return s, nil
}

var errNotRegular = fmt.Errorf("not a regular file")

// key names the stamp in the cache.
func (s stamp) key() string {
	return fmt.Sprintf("%d:%d:%d:%d:%d:%s", s.device, s.inode, s.size, s.mtime, s.ctime, s.path)
}

// age is how long ago the file was changed last; negative if that is in the future.
func (s stamp) age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, max(s.mtime, s.ctime)))
}
