package receipt

// Effect summarizes the effects of one kind that a call had on one target.
type Effect struct {
	Family string `json:"family"`
	// Target is the object of the effect: "GET https://api.example.com" (without the path), "read ~/work/x". It is
	// empty for families without targets, and for the targets of a family beyond the limit.
	Target   string `json:"target,omitempty"`
	Count    int    `json:"count"`
	Sent     int64  `json:"sent,omitempty"`     // bytes sent by the guest
	Received int64  `json:"received,omitempty"` // bytes received by the guest
}

// Denial is one denied effect.
type Denial struct {
	Family string `json:"family"`
	Effect string `json:"effect"`         // "GET https://api.example.com/v1/x", "write ~/work/x"
	Reason string `json:"reason"`         // one sentence, lower case, no full stop, with the plugin and the effect
	Hint   string `json:"hint,omitempty"` // narrowest line that would allow it, if there is one
	Count  int    `json:"count"`          // number of times
	Told   string `json:"-"`              // reason as shown to the caller; empty means Reason
}

// Learnt is a line that a call needed, as recorded in the audit log for plugins in learning mode.
type Learnt struct {
	Line    string `json:"line"`
	Used    int    `json:"used,omitempty"`
	Refused int    `json:"refused,omitempty"`
	Tried   int    `json:"tried,omitempty"` // in a dry run, without effect
}
