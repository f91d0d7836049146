package console

import "time"

// Call is what one call did.
type Call struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Host    string    `json:"host"` // the host that made it, if it still runs
	Plugin  string    `json:"plugin"`
	Tool    string    `json:"tool"`
	Outcome string    `json:"outcome"`
	Millis  float64   `json:"ms"`
	Effects []string  `json:"effects"` // "net GET https://example.com × 2"
	Denials []Denial  `json:"denials"`
}

// Denial is an effect that was refused.
type Denial struct {
	Effect string `json:"effect"`
	Line   string `json:"line"` // the narrowest line that would allow it; empty if none would
	Why    string `json:"why"`  // why there is no line
}
