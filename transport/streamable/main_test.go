package streamable

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain looks for goroutines of this package that outlive the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if left := leaked(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks that still run our code after some patience.
func leaked() (stacks string) {
	for range 50 {
		buf := make([]byte, 1<<20)
		stacks = ""
		for _, s := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(s, "sallyport/transport") && !strings.Contains(s, "TestMain") {
				stacks += s + "\n\n"
			}
		}
		if stacks == "" {
			return ""
		}
		time.Sleep(100 * time.Millisecond)
	}
	return stacks
}
