package main

import (
	"io"
	"log/slog"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// openLog opens sallyport.log in the state folder; lines also go to w.
func openLog(s *settings.Settings, w io.Writer) (*logging.File, error) {
	if err := private.Folder(s.Text("state")); err != nil {
		return nil, err
	}
	return logging.Open(filepath.Join(s.Text("state"), "sallyport.log"), w)
}

// newLogger is the log that the settings ask for.
func newLogger(s *settings.Settings, w io.Writer) *slog.Logger {
	return logging.New(w, s.Text("log.level"), s.Bool("log.json"))
}

// quiet is log if a level was asked for, else no log at all.
func quiet(s *settings.Settings, log *slog.Logger) *slog.Logger {
	if s.Source("log.level") == settings.FromDefault {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
