package logging

import (
	"io"
	"log/slog"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
)

// OpenFor opens the log file of the settings; lines also go to w. It creates the state folder.
func OpenFor(s *settings.Settings, w io.Writer) (*File, error) {
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return nil, err
	}
	return Open(s.State().Log(), w)
}

// For returns a logger to w with the level and format of the settings.
func For(s *settings.Settings, w io.Writer) *slog.Logger {
	return New(w, s.Text("log.level"), s.Bool("log.json"))
}

// Quiet returns log if the operator set a level, else a logger that discards everything.
func Quiet(s *settings.Settings, log *slog.Logger) *slog.Logger {
	if s.Source("log.level") == settings.FromDefault {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
