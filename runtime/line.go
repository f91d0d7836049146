package runtime

import (
	"container/list"
	"time"
)

// line is one kind of call: how many run, for whom, and who waits in which order. A queue's lock guards it.
type line struct {
	places, spare int
	running       int
	held          map[holder]int
	usual         time.Duration // what a call has taken, lately

	waiting int
	last    uint64    // how many have waited
	back    list.List // of *ticket: paused calls that wait for their turn; they are not counted
	shares  map[holder]*share
	order   list.List // of *share: whose turn is next
}

// share is what waits of one holder. Its sessions take turns.
type share struct {
	n        int
	sessions map[string]*strand
	order    list.List // of *strand
	place    *list.Element
	who      holder
}

// strand is what waits for one session, in the order it came.
type strand struct {
	session string
	waiting list.List // of *ticket
	place   *list.Element
}

// position is where a ticket waits.
type position struct {
	share  *share
	strand *strand
	place  *list.Element
}

func newLine(places, spare int) line {
	return line{places: places, spare: spare, held: map[holder]int{}, shares: map[holder]*share{}}
}

// open reports whether there is a place for one more call of a holder.
func (l *line) open(who holder) bool {
	return l.running < l.places || l.running < l.places+l.spare && l.held[who] == 0
}

// waits is how many calls of a holder wait.
func (l *line) waits(who holder) int {
	if s := l.shares[who]; s != nil {
		return s.n
	}
	return 0
}

// longest is the holder with the most calls that wait, nil if none do.
func (l *line) longest() (found *share) {
	for _, s := range l.shares {
		if found == nil || s.n > found.n {
			found = s
		}
	}
	return found
}

// newest is the call that came last.
func (s *share) newest() *ticket {
	var found *ticket
	for _, st := range s.sessions {
		if t := st.waiting.Back().Value.(*ticket); found == nil || t.number > found.number {
			found = t
		}
	}
	return found
}

// add has a ticket wait.
func (l *line) add(t *ticket) {
	l.last++
	t.number = l.last
	if t.back {
		t.place = position{place: l.back.PushBack(t)}
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
	t.place = position{s, st, st.waiting.PushBack(t)}
	s.n++
	l.waiting++
}

// remove takes a ticket out of those that wait.
func (l *line) remove(t *ticket) {
	at := t.place
	t.place = position{}
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
	if at.share.n--; at.share.n == 0 {
		l.order.Remove(at.share.place)
		delete(l.shares, at.share.who)
	}
}

// take takes out the ticket whose turn it is, nil if there is none for whom there is a place. busy are the kept
// instances that serve a call. Who was served goes behind the others.
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

// first is the ticket of a share whose turn it is.
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

// leave gives a place back.
func (l *line) leave(t *ticket) {
	l.running--
	if l.held[t.who]--; l.held[t.who] == 0 {
		delete(l.held, t.who)
	}
	l.usual += (time.Since(t.since) - l.usual) / 8
}
