package main

import (
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// notice formats a notification that precedes the result as one line.
func notice(msg []byte) string {
	params := jsonraw.Get(msg, "params")
	text := func(key string) string {
		value := jsonraw.Get(params, key)
		if s, ok := jsonraw.String(value); ok {
			return s
		}
		return string(value)
	}
	switch method, _ := jsonraw.String(jsonraw.Get(msg, "method")); method {
	case "notifications/progress":
		line := "progress " + text("progress")
		if total := text("total"); total != "" {
			line += " of " + total
		}
		return ui.Line(strings.TrimSpace(line + " " + text("message")))
	case "notifications/message":
		return ui.Line(fmt.Sprintf("%s: %s", text("level"), text("data")))
	}
	return string(ui.JSON(msg))
}
