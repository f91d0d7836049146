//go:build decoders

package rewrite_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// oracle is a second decoder and validator: wasmtime's, in a process that answers one question at a time.
type oracle struct {
	in  io.Writer
	out *bufio.Reader
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", "..", "build", "oracle", "release", "oracle"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal("make build/oracle/release/oracle builds it:", err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	return &oracle{in, bufio.NewReader(out)}
}

func (o *oracle) ask(t testing.TB, question byte, wasm []byte) string {
	t.Helper()
	var size [4]byte
	_, err := o.in.Write(append(binary.LittleEndian.AppendUint32([]byte{question}, uint32(len(wasm))), wasm...))
	if err == nil {
		_, err = io.ReadFull(o.out, size[:])
	}
	text := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if err == nil {
		_, err = io.ReadFull(o.out, text)
	}
	if err != nil {
		t.Fatalf("the oracle: %v\n%x", err, wasm)
	}
	return string(text)
}

// invalid returns the reason why a module is invalid, or "".
func (o *oracle) invalid(t testing.TB, wasm []byte) string { return o.ask(t, 'v', wasm) }

// invalidPlain is invalid without the exceptions.
func (o *oracle) invalidPlain(t testing.TB, wasm []byte) string { return o.ask(t, 'p', wasm) }

// theirs returns each instruction of a module as decoded by the oracle: offset, name, operands.
func (o *oracle) theirs(t testing.TB, wasm []byte) []string {
	lines := strings.Split(strings.TrimSuffix(o.ask(t, 'd', wasm), "\n"), "\n")
	for i, l := range lines {
		if l == "function" || l == "" || strings.HasPrefix(l, "error") {
			continue
		}
		at, op, _ := strings.Cut(l, " ")
		name, operands, _ := strings.Cut(op, " ")
		lines[i] = fmt.Sprint(at, " ", name, " ", strings.Join(operandsOf(operands), " "))
	}
	return lines
}

// notOperands matches the oracle's output besides operands, and the parts common to every instruction.
var notOperands = regexp.MustCompile(`max_align: \d+, |, memory: \d+|count: \d+, |BrTable|V128|Ieee\d+`)

// operand matches a number or a type.
var operand = regexp.MustCompile(`-?\b\d+\b|\b(Empty|I32|I64|F32|F64|V128|Ref\(funcref\)|Ref\(externref\)|Func|Extern|Exn|One|OneRef|All|AllRef)\b`)

func operandsOf(text string) []string {
	v128 := strings.Contains(text, "ty: V128") || strings.Contains(text, "Type(V128)")
	text = notOperands.ReplaceAllString(text, "")
	text = strings.NewReplacer("Ref(funcref)", "Func", "Ref(externref)", "Extern", "Ref(exnref)", "Exn").Replace(text)
	if v128 { // only the type of a block or a select
		return append([]string{"V128"}, operand.FindAllString(text, -1)...)
	}
	return operand.FindAllString(text, -1)
}

// ours returns the same as decoded by this package. The names are the oracle's, by the number of the instruction.
func ours(t testing.TB, wasm []byte, names map[[2]uint32]string) (lines []string) {
	t.Helper()
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Sections() {
		if s.ID != 10 {
			continue
		}
		d := wasmbin.NewDecoder(s.Data, s.Offset, "the code section")
		for n := d.Count(2); n > 0 && d.Err() == nil; n-- {
			size := d.U32()
			at := d.Offset()
			body := wasmbin.NewDecoder(d.Bytes(size), at, "a function body")
			for n := body.Count(2); n > 0; n-- {
				body.U32()
				body.ValueType()
			}
			lines = append(lines, "function")
			for in := (wasmbin.Instruction{}); !body.Done() && body.Next(&in); {
				lines = append(lines, fmt.Sprint(at+in.Begin, " ", names[[2]uint32{uint32(in.Op), in.Sub}], " ", strings.Join(words(&in), " ")))
				in.Sub = 0
			}
		}
	}
	if lines == nil {
		lines = []string{""}
	}
	return lines
}

// types are the oracle's names of types.
var types = map[byte]string{0x40: "Empty", 0x7f: "I32", 0x7e: "I64", 0x7d: "F32", 0x7c: "F64", 0x7b: "V128", 0x70: "Func", 0x6f: "Extern", 0x69: "Exn"}

// words returns the operands of an instruction in the oracle's order.
func words(in *wasmbin.Instruction) []string {
	u := func(n ...uint32) (out []string) {
		for _, n := range n {
			out = append(out, strconv.FormatUint(uint64(n), 10))
		}
		return out
	}
	switch op := in.Op; {
	case op >= 0x02 && op <= 0x04 && in.Typed:
		return u(in.X)
	case op >= 0x02 && op <= 0x04, op == 0x1c, op == 0xd0:
		return []string{types[in.Type]}
	case op == 0x1f:
		return tryWords(in, u)
	case op == 0x08, op == 0x0c, op == 0x0d, op == 0x10, op == 0x12, op >= 0x20 && op <= 0x26, op == 0xd2:
		return u(in.X)
	case op == 0x0e:
		last := len(in.Labels) - 1
		return append(u(in.Labels[last]), u(in.Labels[:last]...)...)
	case op == 0x11, op == 0x13, op >= 0x28 && op <= 0x3e:
		return u(in.X, in.Y)
	case op == 0x3f, op == 0x40:
		return u(0)
	case op == 0x41, op == 0x42:
		return []string{strconv.FormatInt(in.N, 10)}
	case op == 0x43:
		return u(uint32(in.N))
	case op == 0x44:
		return []string{strconv.FormatUint(uint64(in.N), 10)}
	case op == 0xfc:
		return bulkWords(in, u)
	case op == 0xfd:
		return vectorWords(in, u)
	}
	return nil
}

func tryWords(in *wasmbin.Instruction, u func(...uint32) []string) []string {
	out := []string{types[in.Type]}
	if in.Typed {
		out = u(in.X)
	}
	for _, c := range in.Catches {
		out = append(out, [...]string{"One", "OneRef", "All", "AllRef"}[c.Kind])
		if c.Tagged() {
			out = append(out, u(c.Tag)...)
		}
		out = append(out, u(c.Label)...)
	}
	return out
}

func bulkWords(in *wasmbin.Instruction, u func(...uint32) []string) []string {
	switch in.Sub {
	case 8:
		return u(in.X, 0)
	case 9, 13, 15, 16, 17:
		return u(in.X)
	case 10:
		return u(0, 0)
	case 11:
		return u(0)
	case 12, 14:
		return u(in.X, in.Y)
	}
	return nil
}

func vectorWords(in *wasmbin.Instruction, u func(...uint32) []string) (out []string) {
	switch sub := in.Sub; {
	case sub <= 11, sub == 92, sub == 93:
		return u(in.X, in.Y)
	case sub == 12, sub == 13:
		for _, c := range in.Wide {
			out = append(out, u(uint32(c))...)
		}
	case sub >= 21 && sub <= 34:
		return u(uint32(in.Lane))
	case sub >= 84 && sub <= 91:
		return u(in.X, in.Y, uint32(in.Lane))
	}
	return out
}
