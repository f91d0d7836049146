package stdio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// TestServe_answersEachOfManyConcurrentCalls runs quick, slow and cancelled calls at once over a real pipe.
func TestServe_answersEachOfManyConcurrentCalls(t *testing.T) {
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	h := hammer{newFake()}
	done := make(chan error, 1)
	go func() {
		done <- serve(t.Context(), h.connect, inR, outW, (&Options{Concurrency: 8}).withDefaults())
		outW.Close()
	}()
	go func() {
		w := bufio.NewWriter(inW)
		for i := range n {
			fmt.Fprintln(w, callOf(i, "echo"))
			if i%7 == 0 {
				fmt.Fprintln(w, "garbage")
			}
			if i%100 == 0 {
				w.Flush()
			}
		}
		w.Flush()
		inW.Close()
	}()
	answers, errs := countAnswers(t, outR)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(answers) != n || errs != (n+6)/7 {
		t.Errorf("%d answers and %d errors, want %d and %d", len(answers), errs, n, (n+6)/7)
	}
}

func countAnswers(t *testing.T, r io.Reader) (answers map[string]bool, errs int) {
	answers = make(map[string]bool)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		m, err := jsonrpc.Parse(lines.Bytes())
		switch {
		case err != nil:
			t.Fatalf("%q: got %v, want a message", lines.Text(), err)
		case m.Error != nil:
			errs++
		case answers[string(m.ID)]:
			t.Fatalf("%s: got two answers, want one", m.ID)
		default:
			answers[string(m.ID)] = true
		}
	}
	return answers, errs
}

// hammer is a fake with calls that take 0 to 3 ms.
type hammer struct{ *fake }

func (h hammer) connect(func([]byte)) conn { return h }

func (h hammer) Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response {
	if id, err := strconv.Atoi(string(m.ID)); err == nil && id%5 == 0 {
		time.Sleep(time.Duration(id%30) * 100 * time.Microsecond)
	}
	return h.fake.Handle(ctx, m, send)
}
