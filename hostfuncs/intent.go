package hostfuncs

// IntentListener is implemented by a Client that is told of upcoming changes of a call and its nested calls: requests
// that change something, and the commit of files and keys.
type IntentListener interface {
	// Intends is called before a change. An error prevents it.
	Intends(what string) error
	// Recants is called if a change passed to Intends did not happen.
	Recants(what string)
}

// saving is the intent to commit files and keys.
const saving = "the commit of the call's writes"

// intents are the changes that a call and its nested calls have begun. The client and the journal of the outermost
// call record each one before it happens. Only the guest's goroutine uses it.
type intents struct {
	above  *intents // of the calling call; nil for an outermost call
	call   *Call
	replay *replay
	begun  []string
}

// outermost returns the intents of the outermost call.
func (i *intents) outermost() *intents {
	for i.above != nil {
		i = i.above
	}
	return i
}

// intend records an upcoming change. The error prevents it.
func (i *intents) intend(what string) error {
	top := i.outermost()
	if l, ok := top.call.Client.(IntentListener); ok {
		if err := l.Intends(what); err != nil {
			return i.replay.unnoted(err)
		}
	}
	if j := top.replay.journal; j != nil {
		if err := j.Does(what); err != nil {
			return i.replay.unnoted(err)
		}
	}
	for x := i; x != nil; x = x.above {
		x.begun = append(x.begun, what)
	}
	return nil
}

// recant withdraws the last intent.
func (i *intents) recant(what string) {
	top := i.outermost()
	if l, ok := top.call.Client.(IntentListener); ok {
		l.Recants(what)
	}
	if j := top.replay.journal; j != nil {
		j.Undoes()
	}
	for x := i; x != nil; x = x.above {
		x.begun = x.begun[:len(x.begun)-1]
	}
}
