package runner

// ClaimQuestions reports whether the questions of a task are the caller's to put, until it releases them.
func (r *Runner) ClaimQuestions(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking[id] {
		return false
	}
	r.asking[id] = true
	return true
}

// ReleaseQuestions ends what ClaimQuestions began.
func (r *Runner) ReleaseQuestions(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asking, id)
}

// Hear has a client hear what its task says on its way; a nil f has nobody.
func (r *Runner) Hear(id string, f func(msg []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil {
		delete(r.hearing, id)
	} else {
		r.hearing[id] = f
	}
}

// Tell passes on what a task says on its way: its progress, to the session of 2025-11-25 that began it. The extension
// of today has none.
func (r *Runner) Tell(id string, msg []byte) {
	r.mu.Lock()
	f := r.hearing[id]
	r.mu.Unlock()
	if f != nil && msg != nil {
		f(msg)
	}
}
