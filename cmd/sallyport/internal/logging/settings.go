package logging

import (
	"io"
	"log/slog"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// OpenFor opens the log in the state folder; lines also go to w.
func OpenFor(s *settings.Settings, w io.Writer) (*File, error) {
	if err := private.Folder(s.Text("state")); err != nil {
		return nil, err
	}
	return Open(s.LogFile(), w)
}

// For is the log that the settings ask for.
func For(s *settings.Settings, w io.Writer) *slog.Logger {
	return New(w, s.Text("log.level"), s.Bool("log.json"))
}

// Quiet is log if a level was asked for, else no log at all.
func Quiet(s *settings.Settings, log *slog.Logger) *slog.Logger {
	if s.Source("log.level") == settings.FromDefault {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
