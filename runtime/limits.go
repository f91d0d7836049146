package runtime

import (
	"cmp"
	goruntime "runtime"
	"time"
)

// The defaults of Limits.
const (
	DefaultMemory   = 64 << 20
	DefaultDeadline = 30 * time.Second
	DefaultOutput   = 256 << 10
	DefaultQueue    = 1024
	DefaultStart    = 10 * time.Second
	DefaultAsk      = 10 * time.Minute
	DefaultTask     = time.Hour
)

// MaxReply is the maximum text of the host's answer to a guest request, or to a round of them, in bytes.
const MaxReply = 4 << 20

// processors is the number of cores, as the process found it: a program may raise GOMAXPROCS above it later.
var processors = goruntime.GOMAXPROCS(0)

// DefaultConcurrency returns two calls for each core, since many calls wait: at least 4, and at most 64.
func DefaultConcurrency() int { return min(max(2*processors, 4), 64) }

// Limits bounds the calls of one plugin. A zero field means its default, given last in its comment.
type Limits struct {
	Memory      uint64        // bytes of linear memory of one instance; 64 MiB, at most 4 GiB − 64 KiB
	Deadline    time.Duration // of one call, from its start to its result; 30 s
	Task        time.Duration // of a patient call, in place of Deadline; 1 h
	Output      int           // bytes of one result; 256 KiB
	Concurrency int           // calls that run at the same time (see queue); DefaultConcurrency
	Queue       int           // calls that may wait for their turn; 1024; negative: none
	Wait        time.Duration // of a call for its turn, which does not count towards its deadline; Deadline
	Start       time.Duration // of starting an instance, within the deadline; 10 s
	Fuel        uint64        // units of one call, about one instruction each; unlimited
	Ask         time.Duration // of one call's waiting for people, models and the client, outside the deadline; 10 min
}

// CheckStart rejects a limit below the initial memory of an instance plus the host memory it needs beside, in bytes. The
// error names the key of the limit, see Setting: that of limits.for if the limits are those of a class of callers.
func (l Limits) CheckStart(memory, beside uint64, ofClass bool) error {
	t := terms{Limits: l.WithDefaults()}
	if ofClass {
		t.own = l
	}
	return t.checkStart(memory, beside)
}

// Or returns the limits with those of other for every zero field.
func (l Limits) Or(other Limits) Limits {
	return Limits{
		Memory:      cmp.Or(l.Memory, other.Memory),
		Deadline:    cmp.Or(l.Deadline, other.Deadline),
		Task:        cmp.Or(l.Task, other.Task),
		Output:      cmp.Or(l.Output, other.Output),
		Concurrency: cmp.Or(l.Concurrency, other.Concurrency),
		Queue:       cmp.Or(l.Queue, other.Queue),
		Wait:        cmp.Or(l.Wait, other.Wait),
		Start:       cmp.Or(l.Start, other.Start),
		Fuel:        cmp.Or(l.Fuel, other.Fuel),
		Ask:         cmp.Or(l.Ask, other.Ask),
	}
}

// WithDefaults returns the limits with every zero field set to its default.
func (l Limits) WithDefaults() Limits {
	// One page less than the whole address space keeps every size within 32 bits.
	l.Memory = min(cmp.Or(l.Memory, DefaultMemory), maxMemory)
	l.Deadline = cmp.Or(l.Deadline, DefaultDeadline)
	l.Task = cmp.Or(l.Task, DefaultTask)
	l.Output = cmp.Or(l.Output, DefaultOutput)
	l.Concurrency = max(cmp.Or(l.Concurrency, DefaultConcurrency()), 1)
	l.Queue = cmp.Or(l.Queue, DefaultQueue) // a negative value stays, or it would become the default again
	l.Wait = cmp.Or(l.Wait, l.Deadline)
	l.Start = cmp.Or(l.Start, DefaultStart)
	l.Ask = cmp.Or(l.Ask, DefaultAsk)
	return l
}
