package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/plugins/internal/granted"
)

const (
	// maxFile bounds a file that is read: an instance has 64 MiB.
	maxFile = 8 << 20
	// maxShown bounds a text in a result, below 256 KiB, the limit of a result.
	maxShown = 100 << 10
	// maxBinary bounds bytes in base64, for the same reason.
	maxBinary = 180 << 10
)

type readArgs struct {
	Path  string `json:"path" doc:"the file" minLength:"1"`
	Start int    `json:"start,omitempty" doc:"the first line to show, counted from 1; from the end if negative"`
	Lines int    `json:"lines,omitempty" doc:"how many lines to show; all that fit if absent" minimum:"1"`
}

func read(_ *sallyport.Call, a readArgs) (sallyport.Result, error) {
	path, err := granted.Clean(a.Path)
	if err != nil {
		return sallyport.Result{}, err
	}
	data, err := load(path)
	if err != nil {
		return sallyport.Result{}, err
	}
	if kind := mimeType(path, data); strings.HasPrefix(kind, "image/") && !isText(data) {
		return image(path, kind, data)
	}
	if !isText(data) {
		return sallyport.Result{}, fmt.Errorf("%s is not a text: %d bytes of %s", path, len(data), mimeType(path, data))
	}
	text, note := window(string(data), a.Start, a.Lines)
	content := []sallyport.Content{sallyport.Text(text)}
	if note != "" {
		content = append(content, sallyport.Text(note))
	}
	return sallyport.Result{Content: content}, nil
}

func image(path, kind string, data []byte) (sallyport.Result, error) {
	if len(data) > maxBinary {
		return sallyport.Result{}, fmt.Errorf("%s is an image of %d bytes, too large to show", path, len(data))
	}
	return sallyport.Result{Content: []sallyport.Content{sallyport.Image(data, kind)}}, nil
}

// load reads a whole file.
func load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, granted.Explain(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.New(path + " is a folder; the list tool shows it")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, granted.Explain(path, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return data, nil
}

// window returns n lines of a text, from the line start, and a note if that is not all.
func window(text string, start, n int) (shown, note string) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first := firstLine(start, len(lines))
	end := first
	for size := 0; end < len(lines) && (n == 0 || end < first+n); end++ {
		if size += len(lines[end]); size > maxShown && end > first {
			break
		}
	}
	shown = strings.Join(lines[first:end], "")
	if len(shown) > maxShown { // even one line may be too long
		shown = strings.ToValidUTF8(shown[:maxShown], "")
		return shown, fmt.Sprintf("(line %d is cut after %d bytes)", first+1, maxShown)
	}
	if first > 0 || end < len(lines) {
		note = fmt.Sprintf("(lines %d to %d of %d)", min(first+1, end), end, len(lines))
	}
	return shown, note
}

// firstLine converts a line number, counted from 1 or backwards from the end, to an index from 0.
func firstLine(start, total int) int {
	switch {
	case start < 0:
		return max(total+start, 0)
	case start > 0:
		return min(start-1, total)
	}
	return 0
}

// isText reports whether bytes can be shown: UTF-8 without NUL.
func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// mimeTypes maps common file name extensions to types. Package mime would read tables from the file system, which is
// not granted.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".html": "text/html", ".htm": "text/html", ".css": "text/css", ".csv": "text/csv",
	".js": "text/javascript", ".json": "application/json", ".xml": "application/xml", ".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".wasm": "application/wasm",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".txt": "text/plain",
}

// mimeType returns the type according to a file's name, or else its bytes.
func mimeType(path string, data []byte) string {
	if kind := mimeTypes[strings.ToLower(filepath.Ext(path))]; kind != "" {
		return kind
	}
	if isText(data) {
		return "text/plain"
	}
	return "application/octet-stream"
}
