package streamable

import (
	"container/list"
	"sync"
	"time"
)

// primeAfter is the time after which the response to a session's call becomes a stream even without messages: from
// then on a client that loses the connection can resume.
const primeAfter = time.Second

// primer takes over the responses to the calls that last for primeAfter. All share one timer: nearly every call is
// shorter, and a timer of its own would interrupt the thread that waits for the network at each one's beginning. The
// zero value is ready for use, and safe for concurrent use.
type primer struct {
	mu    sync.Mutex
	calls list.List // of *pendingCall, in order of their beginning
	armed bool      // a timer runs
}

// add watches a call until remove.
func (p *primer) add(c *pendingCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.place = p.calls.PushBack(c)
	if !p.armed {
		p.arm(primeAfter)
	}
}

// arm sets the timer. The caller holds mu.
func (p *primer) arm(after time.Duration) {
	p.armed = true
	time.AfterFunc(after, p.prime)
}

// remove ends the watch, if the call was not primed.
func (p *primer) remove(c *pendingCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.place != nil {
		p.calls.Remove(c.place)
		c.place = nil
	}
}

// prime takes over the calls that have lasted for primeAfter, and sets the timer for the next one.
func (p *primer) prime() {
	for _, c := range p.due() {
		c.takeOver(c.session.primes())
	}
}

// due removes and returns the calls that have lasted for primeAfter, and sets the timer for the next one.
func (p *primer) due() (due []*pendingCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	for e := p.calls.Front(); e != nil; e = p.calls.Front() {
		c := e.Value.(*pendingCall)
		if left := primeAfter - time.Since(c.begun); left > 0 {
			p.arm(left)
			break
		}
		p.calls.Remove(e)
		c.place = nil
		due = append(due, c)
	}
	return due
}
