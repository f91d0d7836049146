package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// latestFiles bounds the files that are followed: the last written.
	latestFiles = 64
	// latestBytes bounds the bytes that are read from the end of a file, whether it is new or has grown.
	latestBytes = 256 << 10
)

// Latest follows the ends of all chains of a folder, including those of other processes. It is safe for concurrent
// use.
type Latest struct {
	dir  string
	room int

	mu    sync.Mutex
	read  map[string]int64 // offset up to which each file was read
	lines []latestLine     // at most room lines, sorted by time
}

type latestLine struct {
	at   string // sort key: the time
	line Line
}

// NewLatest follows a folder, which need not exist, and keeps up to room lines.
func NewLatest(dir string, room int) *Latest {
	return &Latest{dir: dir, room: room, read: map[string]int64{}}
}

// Lines returns the last lines about calls, newest first. Lines that are not written to a file yet are missing.
func (l *Latest) Lines() ([]Line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	files, err := l.files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := l.follow(f); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.lines, func(a, b latestLine) int { return cmp.Compare(b.at, a.at) })
	l.lines = slices.Clip(l.lines[:min(len(l.lines), l.room)])
	out := make([]Line, len(l.lines))
	for i, line := range l.lines {
		out[i] = line.line
	}
	return out, nil
}

// files returns the files that have grown since they were read.
func (l *Latest) files() (grown []fs.FileInfo, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), ".log") && info.Mode().IsRegular() && info.Size() > l.read[e.Name()] {
			grown = append(grown, info)
		}
	}
	slices.SortFunc(grown, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	return grown[:min(len(grown), latestFiles)], nil
}

// follow reads the new part of a file, up to its last whole line.
func (l *Latest) follow(info fs.FileInfo) error {
	f, err := os.Open(filepath.Join(l.dir, info.Name()))
	if os.IsNotExist(err) {
		return nil // too old to be followed
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	from := max(l.read[info.Name()], info.Size()-latestBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 {
		return nil
	}
	if from > l.read[info.Name()] { // the first line may be partial
		data = data[bytes.IndexByte(data, '\n')+1:]
		end = bytes.LastIndexByte(data, '\n') + 1
	}
	l.read[info.Name()] = info.Size() - int64(len(data)) + int64(end)
	chain := chainOf(info.Name())
	for line := range bytes.Lines(data[:end]) {
		l.add(chain, bytes.TrimSuffix(line, []byte("\n")))
	}
	return nil
}

// add keeps a line if it is about a call.
func (l *Latest) add(chain string, line []byte) {
	if jsonraw.Get(line, "call") == nil {
		return
	}
	at, _ := jsonraw.String(jsonraw.Get(line, "at"))
	l.lines = append(l.lines, latestLine{at, Line{Chain: chain, N: number(line), Text: json.RawMessage(bytes.Clone(line))}})
}
