package streamable

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

const (
	// writeTimeout is how long a client may take to accept one message.
	writeTimeout = 60 * time.Second
	// keepAlive is the time between comments on a stream: proxies commonly give up at 30 or 60 s.
	keepAlive = 15 * time.Second
	// retry is when a client whose connection ended should be back, in milliseconds.
	retry = 500
)

// comment keeps a silent stream open.
var comment = []byte(":\n\n")

// beginEvents makes a response an event stream.
func beginEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	w.WriteHeader(http.StatusOK)
}

// appendEvent appends one server-sent event; an id of "" is left out.
func appendEvent(buf []byte, id string, msg []byte) []byte {
	buf = append(buf, "event: message\n"...)
	if id != "" {
		buf = append(append(append(buf, "id: "...), id...), '\n')
	}
	for line := range bytes.SplitSeq(msg, []byte{'\n'}) {
		buf = append(buf, "data: "...)
		buf = append(buf, bytes.TrimSuffix(line, []byte{'\r'})...)
		buf = append(buf, '\n')
	}
	return append(buf, '\n')
}

// appendPriming appends the event without data that gives a client a place to come back to, before
// anything is sent, and says when to.
func appendPriming(buf []byte, id string) []byte {
	buf = append(append(append(buf, "id: "...), id...), "\nretry: "...)
	return append(strconv.AppendInt(buf, retry, 10), "\ndata: \n\n"...)
}
