package console

import "time"

// Call is the summary of one call.
type Call struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Host    string    `json:"host"` // host that served it, if it still runs
	Plugin  string    `json:"plugin"`
	Tool    string    `json:"tool"`
	Outcome string    `json:"outcome"`
	Millis  float64   `json:"ms"`
	Effects []string  `json:"effects"` // "net GET https://example.com × 2"
	Denials []Denial  `json:"denials"`
}

// Denial is a denied effect.
type Denial struct {
	Effect string `json:"effect"`
	Line   string `json:"line"` // narrowest line that would allow it; may be empty
	Why    string `json:"why"`  // why there is no line
}
