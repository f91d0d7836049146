//go:build replicas

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	replicasFor  = flag.Duration("replicas.for", 60*time.Second, "time of the load on replicas")
	replicasSeed = flag.Uint64("replicas.seed", 0, "seed of the order of disturbances, or 0")
)

// disturbances are the events of the test, one after the other. Each returns when it is mended.
func disturbances(c *cluster) map[string]func(r *replica) {
	pause := func(time time.Duration) func(r *replica) {
		return func(r *replica) {
			r.signal(syscall.SIGSTOP)
			sleep(time)
			r.signal(syscall.SIGCONT)
		}
	}
	return map[string]func(r *replica){
		"kill": func(r *replica) {
			r.kill()
			r.start()
			r.untilReady()
		},
		"pause":      pause(2 * time.Second),
		"long pause": pause(20 * time.Second), // its leases end meanwhile
		"drain": func(r *replica) {
			r.drain()
			r.start()
			r.untilReady()
		},
		"restart of the database": func(*replica) {
			if err := c.database.Crash(); err != nil {
				c.t.Error(err)
			}
			sleep(time.Second)
			if err := c.database.Begin(); err != nil {
				c.t.Error(err)
			}
		},
		"cut of the database": func(*replica) {
			for _, r := range c.replicas {
				r.line.Cut()
			}
			sleep(3 * time.Second)
			for _, r := range c.replicas {
				r.line.Mend()
			}
		},
		"silent database": func(*replica) {
			for _, r := range c.replicas {
				r.line.Silence()
			}
			sleep(5 * time.Second)
			for _, r := range c.replicas {
				r.line.Mend()
			}
		},
		"host without the database": func(r *replica) { // its leases end while it runs
			r.line.Silence()
			sleep(20 * time.Second)
			r.line.Mend()
		},
	}
}

// sleep is the length of a disturbance, and no synchronisation.
func sleep(d time.Duration) { time.Sleep(d) }

// disturb disturbs the cluster in rounds of all disturbances until stop is closed.
func (c *cluster) disturb(l *load, stop <-chan struct{}) {
	seed := *replicasSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	c.t.Logf("-replicas.seed=%d", seed)
	order, all := rand.New(rand.NewPCG(seed, 0)), disturbances(c)
	for {
		names := slices.Sorted(maps.Keys(all))
		order.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			r := c.replicas[order.IntN(len(c.replicas))]
			fmt.Fprintf(c.log, "%s == %s of %s\n", time.Now().Format("15:04:05.000"), name, r.name)
			all[name](r)
			fmt.Fprintf(c.log, "%s == mended: %s\n", time.Now().Format("15:04:05.000"), name)
			l.note("disturbances", name)
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	}
}

// Three hosts on one database behind a balancer lose no effect and do none twice, and answer each call, while hosts and
// the database are killed, paused, drained, cut off and started again.
func TestCluster_losesAndDoublesNothing(t *testing.T) {
	c := newCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), *replicasFor+3*time.Minute)
	defer cancel()
	l, stop, mended := newLoad(ctx, c), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(mended)
		c.disturb(l, stop)
	}()
	time.AfterFunc(*replicasFor, func() { close(stop) })
	began := time.Now()
	l.run(3, stop)
	<-mended
	l.check(t)
	t.Logf("in %v:", time.Since(began).Round(time.Second))
	l.print(t)
}

// print logs the numbers of each kind.
func (l *load) print(t *testing.T) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(l.tally)) {
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(l.tally[kind])) {
			parts = append(parts, fmt.Sprintf("%d %s", l.tally[kind][what], what))
		}
		t.Logf("%s (slowest %v):\n\t%s", kind, l.slowest[kind].Round(time.Millisecond), strings.Join(parts, "\n\t"))
	}
}

// check compares the answers of clients with the ledger and the store.
func (l *load) check(t *testing.T) {
	t.Helper()
	counts, lost, doubled, wrong := map[told]int{}, 0, 0, 0
	for path, what := range l.effects {
		n := l.c.ledger.times(path)
		counts[what]++
		switch {
		case n > 1:
			doubled++
			t.Errorf("%s: performed %d times, %s", path, n, what)
		case n == 0 && what == isDone:
			lost++
			t.Errorf("%s: lost", path)
		case n == 1 && what == isRefused:
			wrong++
			t.Errorf("%s: performed, although its client was told that it was refused", path)
		}
	}
	for key, value := range l.kept {
		if got := l.stored(key); got != value {
			lost++
			t.Errorf("key %s: got %d, want %d", key, got, value)
		}
	}
	if total := l.stored("total"); total < l.counted[isDone] || total > l.counted[isDone]+l.counted[isUnknown] {
		t.Errorf("got a total of %d, want %d and at most %d more", total, l.counted[isDone], l.counted[isUnknown])
	}
	for _, fault := range l.faults {
		t.Error(fault)
	}
	t.Logf("effects %v, keys %d, increments %v: %d lost, %d doubled, %d performed and refused, %d faults", counts, len(l.kept), l.counted, lost, doubled, wrong, len(l.faults))
}

// stored returns the number at a key of the plugin, 0 if there is none, or -1 for another answer.
func (l *load) stored(key string) int {
	get := step{"do": "ask", "text": "kv/get", "params": map[string]any{"key": key}}
	r := l.patiently("check", func() reply { return l.c.post(l.ctx, "", "tools/call", keyed("effects-run", "", get), nil) })
	var item struct {
		Value  *int
		Result struct{ Value *int }
	}
	_, raw, _ := strings.Cut(r.text(), "ask: ")
	if err := json.Unmarshal([]byte(raw), &item); err != nil {
		return -1
	}
	for _, v := range []*int{item.Value, item.Result.Value} {
		if v != nil {
			return *v
		}
	}
	return 0
}
