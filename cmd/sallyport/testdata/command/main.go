// Command command is a program that misbehaves as its first argument says. It knows nothing of Sallyport.
package main

import (
	"bufio"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const help = `Does as it is told.

Usage: command [OPTION]...

  -n, --times=NUM  as often as that
      --loud       louder
      --help       print this
`

// initialized is the time at which the packages were initialized, and kept what of the arguments they kept.
var initialized, kept = initialize()

func initialize() (time.Time, any) {
	switch os.Getenv("AT_START") {
	case "keep":
		return time.Now(), os.Args[1:]
	case "copy":
		return time.Now(), strings.Join(os.Args, " ")
	case "tell":
		fmt.Fprint(os.Stderr, "started\n")
	case "exit":
		if len(os.Args[1]) > len("initialized") { // a made-up one
			os.Exit(4)
		}
	}
	return time.Now(), nil
}

func main() {
	if os.Args[1] == "--" {
		os.Args = os.Args[1:]
	}
	switch os.Args[1] {
	case "--help":
		fmt.Print(help)
	case "echo": // what it was given
		stdin, err := io.ReadAll(os.Stdin)
		info, _ := os.Stdout.Stat()
		json.NewEncoder(os.Stdout).Encode(map[string]any{
			"args": os.Args[2:], "stdin": string(stdin), "err": fmt.Sprint(err), "env": os.Environ(),
			"terminal": info.Mode()&os.ModeCharDevice != 0, "program": os.Args[0],
		})
	case "silent":
	case "reads": // for ever, though there is nothing to read
		b := make([]byte, 1)
		for {
			os.Stdin.Read(b)
		}
	case "prompt":
		fmt.Print("Name? ")
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Printf("hello %q %v", line, err)
	case "count": // a second call begins anew
		counter++
		fmt.Println(counter)
	case "initialized":
		counter++
		json.NewEncoder(os.Stdout).Encode(map[string]any{"args": os.Args, "env": os.Environ(), "counter": counter,
			"initialized": initialized.Format(time.DateOnly), "now": time.Now().Format(time.DateOnly), "debug": os.Getenv("GODEBUG"), "kept": kept != nil})
		if slices.Contains(os.Args, "fail") {
			fmt.Fprintln(os.Stderr, "init as asked")
			os.Exit(3)
		}
	case "started": // the work before its input is read, and after
		started(os.Args[2:])
	default:
		output(os.Args[1])
		end(os.Args[1])
		files(os.Args[1])
	}
}

// output writes output of an unusual size or form.
func output(do string) {
	switch do {
	case "gigabyte":
		w := bufio.NewWriterSize(os.Stdout, 1<<20)
		for range 1 << 14 {
			w.WriteString(strings.Repeat("x", 1<<16))
		}
		w.Flush()
	case "jsonline":
		os.Stdout.WriteString(`"` + strings.Repeat("x", 100<<20) + `"`)
	case "binary":
		os.Stdout.Write([]byte{0, 1, 2, 0xff, 0xfe})
	case "half":
		os.Stdout.WriteString("caf\xc3")
	case "unread": // it never looks at its standard input
		fmt.Println("done")
	case "scratch":
		before, err := os.ReadDir(os.TempDir())
		file := filepath.Join(os.TempDir(), "out")
		if err == nil {
			err = os.WriteFile(file, fmt.Appendf(nil, "%d before, 1 after, content: temporary", len(before)), 0o600)
		}
		if after, _ := os.ReadDir(os.TempDir()); err != nil || len(after) != 1 {
			fmt.Fprintln(os.Stderr, after, err)
			os.Exit(1)
		}
	case "steps":
		for i := range 3 {
			fmt.Fprintf(os.Stderr, "step %d\n", i+1)
		}
		fmt.Println("done")
	case "colour":
		os.Stdout.WriteString("\x1b[31mred\x1b[0m")
	}
}

// end ends in an unusual way, or never.
func end(do string) {
	switch do {
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "fail":
		fmt.Fprintln(os.Stderr, "step one")
		fmt.Fprintln(os.Stderr, "\x1b[31mcannot open the thing\x1b[0m")
		os.Exit(1)
	case "failout":
		fmt.Println("usage: command THING")
		os.Exit(1)
	case "trap":
		panic("as asked")
	case "loop":
		for i := 0; ; i++ {
			os.Args[0] = strconv.Itoa(i)
		}
	case "memory":
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 1<<20))
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "dial":
		_, err := net.Dial("tcp", "127.0.0.1:80")
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case "fork":
		fmt.Println(exec.Command("/bin/true").Run())
	}
}

// files writes and reads the file that the second argument names.
func files(do string) {
	switch do {
	case "write":
		if err := os.WriteFile(os.Args[2], []byte(os.Args[3]), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if len(os.Args) > 4 {
			code, _ := strconv.Atoi(os.Args[4])
			os.Exit(code)
		}
		fmt.Println("written")
	case "read":
		text, err := os.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.Write(text)
	}
}

var counter int

// started does what it is told before it reads its input, and then tells when it began and how often it was called.
func started(before []string) {
	begun := time.Now().Format(time.DateOnly)
	for _, act := range before {
		switch act {
		case "speak":
			fmt.Println("ready")
		case "warn":
			fmt.Fprintln(os.Stderr, "ready")
		case "draw":
			crand.Read(make([]byte, 8))
		case "look":
			os.ReadFile("/workspace/note.txt")
		case "wait":
			time.AfterFunc(time.Hour, func() {})
		case "end":
			fmt.Println("never read")
			os.Exit(0)
		}
	}
	stdin, err := io.ReadAll(os.Stdin)
	counter++
	fmt.Println(begun, counter, len(stdin), err, os.Getenv("MODE"))
	if strings.HasPrefix(string(stdin), "fail") {
		fmt.Fprintln(os.Stderr, "as asked")
		os.Exit(3)
	}
}
