package protocol_test

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// modelChild is the environment variable with the parameters of the process killed by TestModel_survivesKilledProcesses: folder,
// address and keys of the world, the seed and the step.
const modelChild = "SALLYPORT_MODEL_CHILD"

// TestMain runs child if modelChild is set.
func TestMain(m *testing.M) {
	if part := strings.Fields(os.Getenv(modelChild)); len(part) == 5 {
		child(part)
		return
	}
	os.Exit(m.Run())
}

// child makes the call of a schedule once, as the only host of its process, and is killed at a step. It prints the
// answers received before.
func child(part []string) {
	keys, err := sealed.NewKeys([]byte(part[2]))
	seed, _ := strconv.ParseUint(part[3], 10, 64)
	step, _ := strconv.Atoi(part[4])
	if err != nil {
		panic(err)
	}
	w := &world{t: complaints{}, dir: part[0], up: &httptest.Server{URL: part[1]}, keys: keys}
	h := w.open()
	h.die = func() {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	s := newSchedule(w, seed)
	s.atSent, s.atStep, s.odd = nil, map[int]fault{step: killStep}, ""
	w.current.Store(s)
	r := s.send(h, "tools/call", s.params())
	fmt.Println(string(r.body))
	if r.is("task") {
		w.hosts = [2]*host{h, h}
		s.follow(r.body)
	}
}

// complaints is a testing.TB for a process without a test.
type complaints struct{ testing.TB }

func (complaints) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (complaints) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }

// TestModel_survivesKilledProcesses runs schedules in a separate process that is really killed. The client continues
// with a host started afterwards, and with one that kept running.
func TestModel_survivesKilledProcesses(t *testing.T) {
	w := newWorld(t)
	var total tally
	for n := range *modelRuns / 25 {
		seed := *modelSeed + n + 1_000_000_000
		s := newSchedule(w, seed)
		each(s.steps, s.prepare)
		s.atSent, s.atStep, s.odd = nil, nil, ""
		w.current.Store(s)
		first := s.killed(t, 1+s.rng.IntN(30))
		w.conclude(s, &total, func() { s.goOn(first) })
	}
	total.print("model of at most once, with processes that are killed")
}

// killed runs the call in the process, and returns its answer before it was killed.
func (s *schedule) killed(t *testing.T, step int) reply {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d %d", modelChild, s.w.dir, s.w.up.URL, s.w.secret, s.seed, step))
	var failed strings.Builder
	c.Stderr = &failed
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := c.Wait(); failed.Len() > 0 {
		t.Fatalf("seed %d: %v %s", s.seed, err, failed.String())
	} else if err != nil {
		s.drawn(killStep)
	}
	s.w.all()[0].dead.Store(true) // the next start recovers the state left by the process
	s.heard = append(s.heard, "a process that is killed: "+line)
	return reply{lost: line == "", body: []byte(strings.TrimSpace(line))}
}
