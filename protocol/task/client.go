package task

// ClaimQuestions gives the caller the exclusive right to send the questions of a task until ReleaseQuestions. It
// returns false if they are already claimed.
func (r *Runner) ClaimQuestions(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking[id] {
		return false
	}
	r.asking[id] = true
	return true
}

// ReleaseQuestions ends a claim of ClaimQuestions.
func (r *Runner) ReleaseQuestions(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asking, id)
}

// Hear sets the receiver for the progress messages of a task. A nil f removes it.
func (r *Runner) Hear(id string, f func(msg []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil {
		delete(r.hearing, id)
	} else {
		r.hearing[id] = f
	}
}

// Tell forwards a progress message of a task to the 2025-11-25 session that began it. The current tasks extension
// has none.
func (r *Runner) Tell(id string, msg []byte) {
	r.mu.Lock()
	f := r.hearing[id]
	r.mu.Unlock()
	if f != nil && msg != nil {
		f(msg)
	}
}
