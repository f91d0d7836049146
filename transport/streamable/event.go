package streamable

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

const (
	// writeTimeout is the time for a client to accept one message.
	writeTimeout = 60 * time.Second
	// keepAlive is the interval between comments on a stream: proxies commonly time out after 30 or 60 s.
	keepAlive = 15 * time.Second
	// retry is the reconnection delay of clients, in milliseconds.
	retry = 500
)

// comment keeps an idle stream open.
var comment = []byte(":\n\n")

// beginEvents turns a response into an event stream.
func beginEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer the events
	w.WriteHeader(http.StatusOK)
}

// appendEvent appends one server-sent event. An empty id is omitted.
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

// appendPriming appends an event without data, sent before any other, that gives a client an ID to resume from and
// the reconnection delay.
func appendPriming(buf []byte, id string) []byte {
	buf = append(append(append(buf, "id: "...), id...), "\nretry: "...)
	return append(strconv.AppendInt(buf, retry, 10), "\ndata: \n\n"...)
}
