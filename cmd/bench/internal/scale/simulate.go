package scale

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// simulated is the number of calls of a simulation. They come in a time that depends on the fleet.
const simulated = 200_000

// Run is the outcome of a simulation.
type Run struct {
	Use
	Busiest      float64       // share of the processors of the busiest replica
	Median, Tail time.Duration // of a call's time in the fleet: the 50th and the 99th percentile
	Late         float64       // mean time of the last fifth of the calls over that of the second: a queue grows over 1
}

// call is one call on its way.
type call struct {
	began, at time.Duration // its arrival, and the end of what was done so far
	writes    int
}

// server serves one call at a time with each of its processors, in the order of arrival.
type server struct {
	free []time.Duration // of each processor
	busy time.Duration   // of all together
}

// serve returns the end of a call that arrives at a time.
func (s *server) serve(at, takes time.Duration) time.Duration {
	first := 0
	for i, t := range s.free {
		if t < s.free[first] {
			first = i
		}
	}
	s.free[first] = max(at, s.free[first]) + takes
	s.busy += takes
	return s.free[first]
}

func newServer(cores int) server { return server{free: make([]time.Duration, cores)} }

// share returns the share of the processors that was used until the last call came.
func (s *server) share(all time.Duration) float64 {
	return float64(s.busy) / float64(all) / float64(len(s.free))
}

// draws are the random numbers of a simulation, the same for the same seed on every machine: times are whole
// nanoseconds, so that no processor rounds them otherwise.
type draws struct{ *rand.Rand }

// exponential returns a time with a mean in microseconds.
func (d draws) exponential(micros float64) time.Duration {
	return time.Duration(d.ExpFloat64() * float64(int64(micros*1000)))
}

// kind draws a kind of calls.
func (d draws) kind(all []share) share {
	n := d.IntN(100)
	for _, s := range all {
		if n -= s.percent; n < 0 {
			return s
		}
	}
	return all[0] // not reached: the shares make 100
}

// Simulate runs a fleet call by call: calls come at random, calls of a session go to its replica and others to one after
// the other, each waits for a processor there, and its writes wait for one of the database. Times are exponential with
// the measured means.
func (in Inputs) Simulate(f Fleet, seed uint64) Run {
	d := draws{rand.New(rand.NewPCG(seed, uint64(f.Clients)))}
	replicas := make([]server, f.Replicas)
	for i := range replicas {
		replicas[i] = newServer(ReplicaCores)
	}
	homes := make([]int32, f.Clients) // the replica of each session
	for i := range homes {
		homes[i] = int32(d.IntN(f.Replicas))
	}
	calls, all := make([]call, simulated), mix()
	between := 1e6 / f.rate()
	now := time.Duration(0)
	for i := range calls {
		now += d.exponential(between)
		s, to := d.kind(all), i%f.Replicas
		if s.bound {
			to = int(homes[d.IntN(f.Clients)])
		}
		end := replicas[to].serve(now, d.exponential(in[input(s.kind, "cpu")]))
		calls[i] = call{now, end, int(in[input(s.kind, "writes")])}
	}
	database := in.write(d, calls)
	r := outcome(calls)
	for i := range replicas {
		r.Processor += replicas[i].share(now) / float64(f.Replicas)
		r.Busiest = max(r.Busiest, replicas[i].share(now))
	}
	r.Database = database.share(now)
	return r
}

// write takes the calls to the database, in the order in which they get there.
func (in Inputs) write(d draws, calls []call) server {
	order := make([]int, 0, len(calls))
	for i := range calls {
		if calls[i].writes > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(calls[a].at, calls[b].at) })
	database := newServer(DatabaseCores)
	for _, i := range order {
		takes := time.Duration(0)
		for range calls[i].writes {
			takes += d.exponential(in["scale_database_cpu"])
		}
		calls[i].at = database.serve(calls[i].at, takes)
	}
	return database
}

// outcome returns the times of calls in the order of their arrival.
func outcome(calls []call) Run {
	times, fifth := make([]time.Duration, len(calls)), len(calls)/5
	for i, c := range calls {
		times[i] = c.at - c.began
	}
	late := float64(sum(times[4*fifth:])) / float64(sum(times[fifth:2*fifth]))
	slices.Sort(times)
	return Run{Median: times[len(times)/2], Tail: times[len(times)*99/100], Late: late}
}

func sum(times []time.Duration) (all time.Duration) {
	for _, t := range times {
		all += t
	}
	return all
}
