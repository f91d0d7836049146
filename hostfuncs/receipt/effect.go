package receipt

// Effect is everything of one kind that a call did to one target.
type Effect struct {
	Family string `json:"family"`
	// Target is what was touched: "GET https://api.example.com" (without the path), "read ~/work/x".
	// It is empty for families without targets, and for those of a family that are too many to list.
	Target   string `json:"target,omitempty"`
	Count    int    `json:"count"`
	Sent     int64  `json:"sent,omitempty"`     // bytes that left the guest
	Received int64  `json:"received,omitempty"` // bytes that came to it
}

// Denial is one effect that was refused.
type Denial struct {
	Family string `json:"family"`
	Effect string `json:"effect"`         // "GET https://api.example.com/v1/x", "write ~/work/x"
	Reason string `json:"reason"`         // one sentence, lower case, no full stop, names the plugin and the effect
	Hint   string `json:"hint,omitempty"` // the narrowest line that would allow it, if there is one
	Count  int    `json:"count"`          // how often
	Told   string `json:"-"`              // the reason as the caller was told it; empty is Reason
}

// Learnt is a line that a call needed, as the audit log keeps it for plugins that are learnt about.
type Learnt struct {
	Line    string `json:"line"`
	Used    int    `json:"used,omitempty"`
	Refused int    `json:"refused,omitempty"`
	Tried   int    `json:"tried,omitempty"` // in a call that only tries: it was not done
}
