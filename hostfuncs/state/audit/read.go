package audit

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// splitLine separates a line from its MAC.
func splitLine(line []byte) (body, mac []byte, ok bool) {
	const tail = len(macStart) + 2*macSize + len(`"}`)
	if len(line) < tail || !bytes.HasPrefix(line, []byte(`{"n":`)) {
		return nil, nil, false
	}
	body, end := line[:len(line)-tail], line[len(line)-tail:]
	mac, err := hex.DecodeString(string(end[len(macStart) : len(macStart)+2*macSize]))
	return body, mac, err == nil && bytes.HasPrefix(end, []byte(macStart)) && bytes.HasSuffix(end, []byte(`"}`))
}

func eachLine(path string, f func(line []byte, whole bool) bool) (more bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReaderSize(file, 64<<10)
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		long = append(long, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(long) <= 2*maxLine:
			continue
		case errors.Is(err, io.EOF) && len(long) == 0:
			return true, nil
		case errors.Is(err, io.EOF):
			f(long, false)
			return false, nil
		case err != nil:
			return false, err
		}
		if !f(bytes.TrimSuffix(long, []byte("\n")), true) {
			return false, nil
		}
		long = long[:0]
	}
}

// Line is one line of the log, unverified.
type Line struct {
	Chain string
	N     uint64
	Text  json.RawMessage // valid until f returns
}

// Read calls f for every line of a folder, chain by chain in the order of their start, until f returns false.
func Read(dir string, f func(Line) bool) error {
	all, err := chains(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	v := &verifier{dir: dir, chains: all}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		goOn := true
		err := v.lines(name, func(line []byte, whole bool) bool {
			if whole {
				goOn = f(Line{Chain: name, N: number(line), Text: line})
			}
			return goOn
		})
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}
