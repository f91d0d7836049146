package runtime

import (
	"container/list"
	"time"
)

// line holds the running and waiting calls of one kind (plain calls or tasks). A queue's lock guards it.
type line struct {
	places, spare int
	running       int
	held          map[holder]int // by anyClass
	classes       []class
	usual         time.Duration // moving average of a call's duration

	waiting int
	last    uint64    // number of the last ticket that waited
	back    list.List // of *ticket: paused calls that wait for their turn; not counted in waiting
	shares  map[holder]*share
	order   list.List // of *share: in order of their turns
}

// class counts the calls of one class of callers.
type class struct {
	places           int // for the class; 0 is no limit
	running, waiting int // waiting is without those in line.back
}

func (c *class) full() bool { return c.places > 0 && c.running >= c.places }

// share holds the waiting calls of one holder. Its sessions take turns.
type share struct {
	n        int
	sessions map[string]*strand
	order    list.List // of *strand
	place    *list.Element
	who      holder
}

// strand holds the waiting calls of one session, in order of arrival.
type strand struct {
	session string
	waiting list.List // of *ticket
	place   *list.Element
}

// position is the place of a waiting ticket.
type position struct {
	share  *share
	strand *strand
	place  *list.Element
}

func newLine(places, spare int, all []*terms) line {
	l := line{places: places, spare: spare, held: map[holder]int{}, shares: map[holder]*share{}}
	for _, t := range all {
		l.classes = append(l.classes, class{places: t.own.Concurrency})
	}
	return l
}

// open reports whether there is a place for one more call of a holder.
func (l *line) open(who holder) bool {
	if l.classes[who.class].full() {
		return false
	}
	return l.running < l.places || l.running < l.places+l.spare && l.held[who.anyClass()] == 0
}

// waits returns the number of waiting calls of a holder.
func (l *line) waits(who holder) int {
	if s := l.shares[who]; s != nil {
		return s.n
	}
	return 0
}

// replace rejects the newest call of the holder with the most waiting calls for the sake of t, or t itself if its own
// holder has as many. of selects the holders.
func (l *line) replace(t *ticket, of func(holder) bool, full error) error {
	var longest *share
	for _, s := range l.shares {
		if of(s.who) && (longest == nil || s.n > longest.n) {
			longest = s
		}
	}
	if longest == nil || l.waits(t.who) >= longest.n {
		return full
	}
	out := longest.newest()
	out.wait.err = full
	l.remove(out)
	close(out.wait.ready)
	return nil
}

// newest returns the call that arrived last.
func (s *share) newest() *ticket {
	var found *ticket
	for _, st := range s.sessions {
		if t := st.waiting.Back().Value.(*ticket); found == nil || t.wait.number > found.wait.number {
			found = t
		}
	}
	return found
}

// add puts a ticket into the line.
func (l *line) add(t *ticket) {
	l.last++
	t.wait.number = l.last
	if t.back {
		t.wait.place = position{place: l.back.PushBack(t)}
		return
	}
	s := l.shares[t.who]
	if s == nil {
		s = &share{who: t.who, sessions: map[string]*strand{}}
		s.place = l.order.PushBack(s)
		l.shares[t.who] = s
	}
	st := s.sessions[t.session]
	if st == nil {
		st = &strand{session: t.session}
		st.place = s.order.PushBack(st)
		s.sessions[t.session] = st
	}
	t.wait.place = position{s, st, st.waiting.PushBack(t)}
	s.n++
	l.waiting++
	l.classes[t.who.class].waiting++
}

// remove takes a waiting ticket out of the line.
func (l *line) remove(t *ticket) {
	at := t.wait.place
	t.wait.place = position{}
	if at.share == nil {
		l.back.Remove(at.place)
		return
	}
	at.strand.waiting.Remove(at.place)
	if at.strand.waiting.Len() == 0 {
		at.share.order.Remove(at.strand.place)
		delete(at.share.sessions, at.strand.session)
	}
	l.waiting--
	l.classes[t.who.class].waiting--
	if at.share.n--; at.share.n == 0 {
		l.order.Remove(at.share.place)
		delete(l.shares, at.share.who)
	}
}

// take removes and returns the next ticket that has a place, or nil. busy are the kept instances that serve a call.
// The holder served moves behind the others.
func (l *line) take(busy map[string]bool) *ticket {
	for e := l.back.Front(); e != nil; e = e.Next() {
		if t := e.Value.(*ticket); l.open(t.who) {
			l.remove(t)
			return t
		}
	}
	for e := l.order.Front(); e != nil; e = e.Next() {
		s := e.Value.(*share)
		if !l.open(s.who) {
			continue
		}
		if t := s.first(busy); t != nil {
			l.order.MoveToBack(s.place)
			l.remove(t)
			return t
		}
	}
	return nil
}

// first returns the next ticket of a share, or nil if all wait for busy instances.
func (s *share) first(busy map[string]bool) *ticket {
	for e := s.order.Front(); e != nil; e = e.Next() {
		st := e.Value.(*strand)
		t := st.waiting.Front().Value.(*ticket)
		if t.kept && busy[t.instance] {
			continue
		}
		s.order.MoveToBack(st.place)
		return t
	}
	return nil
}

// leave releases the place of a ticket.
func (l *line) leave(t *ticket) {
	l.running--
	l.classes[t.who.class].running--
	who := t.who.anyClass()
	if l.held[who]--; l.held[who] == 0 {
		delete(l.held, who)
	}
	l.usual += (time.Since(t.since) - l.usual) / 8
}
