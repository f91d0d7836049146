package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
)

// The parts of an exported line, before and behind the name of its chain. The line stands as it is in the log, since its
// MAC covers its bytes.
const (
	exportStart = `{"chain":`
	exportLine  = `,"line":`
)

// Export writes every line of a folder to w, chain by chain, each as one JSON object, {"chain":NAME,"line":LINE}.
func Export(dir string, w io.Writer) error {
	out := bufio.NewWriter(w)
	var b []byte
	var failed error
	err := Read(dir, func(l Line) bool {
		b = append(appendExport(b[:0], l.Chain, l.Text), '\n')
		_, failed = out.Write(b)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// appendExport appends a line of a chain as one JSON object, {"chain":NAME,"line":LINE}, so that lines of several chains
// and hosts can stand in one file. Files.Verify checks them.
func appendExport(b []byte, chain string, line []byte) []byte {
	name, _ := json.Marshal(chain) // cannot fail for a string
	b = append(append(b, exportStart...), name...)
	return append(append(append(b, exportLine...), line...), '}')
}

// exported returns the chain and the line of an exported line, or of one of the log, whose chain its file names.
func exported(text []byte, file string) (chain string, line []byte, ok bool) {
	if bytes.HasPrefix(text, []byte(`{"n":`)) {
		chain = chainOf(filepath.Base(file))
		return chain, text, chain != ""
	}
	rest, is := bytes.CutPrefix(text, []byte(exportStart))
	name, line, whole := bytes.Cut(rest, []byte(exportLine))
	line, closed := bytes.CutSuffix(line, []byte("}"))
	if !is || !whole || !closed || json.Unmarshal(name, &chain) != nil {
		return "", nil, false
	}
	return chain, line, true
}

// chainOf returns the chain of a file of the log, "" for another name. A name that was made longer, as by a rotation or a
// copy of it, has the same chain.
func chainOf(file string) string {
	name, _, is := strings.Cut(file, ".log")
	if !is {
		return ""
	}
	if parts := strings.Split(name, "-"); len(parts) == 4 {
		name = strings.Join(parts[:3], "-")
	}
	return name
}
