package wasi

import (
	"context"
	"math"
	"time"
)

const (
	subscriptionSize = 48
	eventSize        = 32
	// maxSubscriptions is the maximum of one poll: twice the number of open descriptors, and a few clocks.
	maxSubscriptions = 2*maxDescriptors + 64
)

// Kinds of subscriptions and events.
const (
	eventClock = 0
	eventRead  = 1
	eventWrite = 2
)

const (
	clockAbsolute = 1 // subscription flag: the timeout is an absolute time
	eventHangup   = 1 // event flag: the other side is closed
)

// subscription is one event that a poll waits for.
type subscription struct {
	userdata uint64
	kind     byte
	fd       uint32
	err      Errno         // known from the start
	wait     time.Duration // of a clock: time from the start of the poll
}

// pollOneoff waits until at least one subscription is ready, and writes an event for each that is. Options.Sleep
// determines the duration of a sleep, which ends at the next tick of the clock.
//
//	poll_oneoff(subscriptions, events ptr, count i32, result ptr) -> errno
//
//	subscription, 48 bytes: 0 userdata u64 · 8 kind u8 · 16 clock: id u32, 24 timeout u64, 40 flags u16
//	                                                   └ read, write: 16 fd u32
//	event, 32 bytes: 0 userdata u64 · 8 errno u16 · 10 kind u8 · 16 bytes u64 · 24 flags u16
//
// EINVAL no subscription, too many or an unknown kind; EFAULT; ECANCELED the call has ended.
func pollOneoff(c call, p []uint64) Errno {
	count := p[2]
	if count == 0 || count > maxSubscriptions {
		return EINVAL
	}
	raw, e := c.bytes(p[0], count*subscriptionSize)
	if e != ESUCCESS {
		return e
	}
	subs, e := c.subscriptions(raw)
	if e != ESUCCESS {
		return e
	}
	if e := c.writable(p[1], count*eventSize); e != ESUCCESS {
		return e
	}
	if e := c.writable(p[3], 4); e != ESUCCESS {
		return e
	}
	events, e := c.poll(subs)
	if e != ESUCCESS {
		return e
	}
	if e := c.put(p[1], events); e != ESUCCESS {
		return e
	}
	return c.put32(p[3], uint32(len(events)/eventSize))
}

func (c call) subscriptions(raw []byte) ([]subscription, Errno) {
	subs := make([]subscription, 0, len(raw)/subscriptionSize)
	for ; len(raw) > 0; raw = raw[subscriptionSize:] {
		s := subscription{userdata: le.Uint64(raw), kind: raw[8], fd: le.Uint32(raw[16:])}
		switch s.kind {
		case eventClock:
			s.wait, s.err = c.clockWait(uint64(s.fd), le.Uint64(raw[24:]), le.Uint16(raw[40:])&clockAbsolute != 0)
		case eventRead, eventWrite:
			if c.files.get(s.fd) == nil {
				s.err = EBADF
			}
		default:
			return nil, EINVAL
		}
		subs = append(subs, s)
	}
	return subs, ESUCCESS
}

// clockWait converts a timeout to a duration from now, rounded up to Grain so that the clock has passed the timeout
// after it. The maximum is about 292 years.
func (c call) clockWait(id, timeout uint64, absolute bool) (time.Duration, Errno) {
	now, e := c.clock(id)
	if e != ESUCCESS {
		return 0, e
	}
	if absolute {
		if timeout <= uint64(max(0, now)) {
			return 0, ESUCCESS
		}
		timeout -= uint64(max(0, now))
	}
	if timeout > math.MaxInt64-uint64(Grain) {
		return math.MaxInt64, ESUCCESS
	}
	ticks := (timeout + uint64(Grain) - 1) / uint64(Grain)
	return time.Duration(ticks) * Grain, ESUCCESS
}

// poll waits and returns the encoded events. Only the readiness of streams can change while it waits; all other events
// are known at the start.
func (c call) poll(subs []subscription) ([]byte, Errno) {
	var changed [len(c.streams)]<-chan struct{}
	if events := c.events(subs, 0, &changed); len(events) > 0 {
		return events, ESUCCESS
	}
	first := nextWait(subs)
	c.waits(first)
	timer := time.NewTimer(c.sleep(first))
	defer timer.Stop()
	for passed := time.Duration(0); ; {
		over, e := wait(c.ctx, timer.C, &changed)
		if e != ESUCCESS {
			c.waits(first)
			return nil, e
		}
		if over {
			passed = first
		}
		if events := c.events(subs, passed, &changed); len(events) > 0 {
			return events, ESUCCESS
		}
	}
}

// nextWait returns the time until the first clock of a poll.
func nextWait(subs []subscription) time.Duration {
	first := time.Duration(math.MaxInt64)
	for _, s := range subs {
		if s.kind == eventClock {
			first = min(first, s.wait)
		}
	}
	return first
}

// wait returns when the timer has fired or a stream has changed.
func wait(ctx context.Context, timer <-chan time.Time, changed *[3]<-chan struct{}) (over bool, e Errno) {
	select {
	case <-timer:
		return true, ESUCCESS
	case <-changed[0]:
	case <-changed[1]:
	case <-changed[2]:
	case <-ctx.Done():
		return false, ECANCELED
	}
	return false, ESUCCESS
}

// events encodes the events that are ready after the time passed, and collects the channels to wait on.
func (c call) events(subs []subscription, passed time.Duration, changed *[3]<-chan struct{}) []byte {
	var out []byte
	for _, s := range subs {
		switch {
		case s.err != ESUCCESS:
			out = appendEvent(out, s, Readiness{})
		case s.kind == eventClock:
			if passed >= s.wait {
				out = appendEvent(out, s, Readiness{})
			}
		default:
			if r := c.ready(s, changed); r.Ready {
				out = appendEvent(out, s, r)
			}
		}
	}
	return out
}

// ready returns the readiness of one descriptor. Files are always ready.
func (c call) ready(s subscription, changed *[3]<-chan struct{}) Readiness {
	d := c.files.get(s.fd)
	if d.stream == nil {
		return Readiness{Ready: true, Size: d.remaining()}
	}
	r, ch := d.stream.readiness(s.kind == eventWrite)
	for i := range c.streams {
		if &c.streams[i] == d.stream {
			changed[i] = ch
		}
	}
	return r
}

// remaining returns the number of bytes after the position of a file.
func (d *descriptor) remaining() int {
	st, e := d.file.Stat()
	if e != ESUCCESS || d.dir {
		return 0
	}
	return int(max(0, st.Size-d.offset))
}

func appendEvent(out []byte, s subscription, r Readiness) []byte {
	var b [eventSize]byte
	le.PutUint64(b[0:], s.userdata)
	le.PutUint16(b[8:], uint16(s.err))
	b[10] = s.kind
	if s.kind != eventClock && s.err == ESUCCESS {
		le.PutUint64(b[16:], uint64(r.Size))
		if r.Hangup {
			le.PutUint16(b[24:], eventHangup)
		}
	}
	return append(out, b[:]...)
}
