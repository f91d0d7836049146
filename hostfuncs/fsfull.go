package hostfuncs

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// fullKey identifies a reached limit.
type fullKey struct {
	share any
	files bool
}

// full records a write that failed at the call's limit, once per limit.
func (f *files) full(x overlay.Full) {
	key := fullKey{x.Share, x.Files}
	if f.met[key] {
		return
	}
	if f.met == nil {
		f.met = map[fullKey]bool{}
	}
	f.met[key] = true
	line, option := "", "mode: direct"
	if d := f.writeGrant(x.Host); d.Grant != nil {
		line = lineOf(d.Grant)
	}
	amount := fmt.Sprintf("%d of %d bytes", x.Used, x.Limit)
	if x.Files {
		amount = fmt.Sprintf("%d of %d files", x.Used, x.Limit)
	}
	switch {
	case x.Share == nil:
		amount += " that one call may write"
	case x.Files:
		option = "files: " + strconv.FormatInt(room(x), 10)
	default:
		option = "quota: " + grant.FormatSize(room(x))
	}
	if x.Share != nil {
		amount += " under " + line
	}
	no := &refusal{reason: "fs quota full: " + amount}
	if line != "" {
		no.hint = option + " as an option of " + line
	}
	_ = f.gate.deny(effect{family: string(grant.FS), act: "write " + f.shown(x.Host), told: "write " + f.shown(f.veil.name(x.Host))}, no)
}

// room returns a sufficient limit: the next power of two.
func room(x overlay.Full) int64 {
	want := uint64(x.Used) + uint64(x.More)
	if want > 1<<62 {
		return 1 << 62
	}
	return 1 << bits.Len64(want-1)
}
