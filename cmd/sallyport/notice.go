package main

import (
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// notice formats a notification that precedes the result as one line.
func notice(msg []byte) string {
	params := rawjson.Get(msg, "params")
	text := func(key string) string {
		value := rawjson.Get(params, key)
		if s, ok := rawjson.String(value); ok {
			return s
		}
		return string(value)
	}
	switch method, _ := rawjson.String(rawjson.Get(msg, "method")); method {
	case "notifications/progress":
		line := "progress " + text("progress")
		if total := text("total"); total != "" {
			line += " of " + total
		}
		return voice.Line(strings.TrimSpace(line + " " + text("message")))
	case "notifications/message":
		return voice.Line(fmt.Sprintf("%s: %s", text("level"), text("data")))
	}
	return string(voice.JSON(msg))
}
