package fileid

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Files of all sizes are read into reused memory, and readers do not share it.
func TestBuffers_reuseMemoryForFilesOfAllSizes(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, size := range []int{0, 1, 100, 4096, 70_000, 3} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, bytes.Repeat([]byte{byte('a' + i)}, size), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	var b Buffers
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				for i, path := range files {
					content, st, err := b.Read(path)
					if err != nil || int64(len(content)) != st.Size || len(bytes.Trim(content, string(rune('a'+i)))) != 0 {
						t.Errorf("%d: got %d bytes, stamp %+v, %v; want only %q, as many as in the stamp", i, len(content), st, err, string(rune('a'+i)))
					}
					b.Put(content)
				}
				if _, _, err := b.Read(filepath.Join(dir, "none")); err == nil {
					t.Error("Read of an absent file: got no error, want one")
				}
			}
		})
	}
	wg.Wait()
}
