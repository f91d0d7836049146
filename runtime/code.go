package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/runtime/image"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// code is one compiled module, shared by the Modules of equal bytes and by their pools. Its machine code and its data
// segments are loaded while they are used, and may be unloaded meanwhile (see budget); the facts stay.
type code struct {
	engine *Engine
	digest string // of the original module, in hexadecimal digits
	facts

	mu      sync.Mutex
	refs    int // modules and pools
	users   int // calls, images being built and kept instances: while there are any, it is not unloaded
	body    body
	change  *change   // a load or an unload in progress
	used    time.Time // end of the last use
	shelves map[*shelf]bool
	images  image.Family                          // of the shelves
	again   func(context.Context) ([]byte, error) // see Module.ReadAgainBy
}

// body is the part of a module that can be unloaded. The zero body is not loaded.
type body struct {
	compiled wazero.CompiledModule
	size     uint64 // bytes of machine code and of the engine's own records
	data     *segments
}

// segments are the data segments of a module; they are let go once there is an image.
type segments struct{ all []rewrite.Data }

// change is a load or an unload in progress.
type change struct {
	done chan struct{}
	err  error
}

func digestText(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// use returns when the code is loaded, and keeps it so until unuse. Of several callers the first starts the load, which
// continues if it is cancelled.
func (c *code) use(ctx, stop context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++ // from here on it is not unloaded
	for c.change != nil || c.body.compiled == nil {
		ch := c.change
		if ch == nil {
			ch = c.beginLoad()
		}
		c.mu.Unlock()
		err := ch.wait(ctx, stop)
		c.mu.Lock()
		if err != nil {
			c.users--
			return err
		}
	}
	return nil
}

// wait returns when the change is complete.
func (ch *change) wait(ctx, stop context.Context) error {
	select {
	case <-ch.done:
	case <-ctx.Done():
		return outOfTime(ctx, ctx.Err(), "")
	case <-stop.Done():
		return outOfTime(stop, stop.Err(), "")
	}
	if ch.err != nil {
		return &EndError{Kind: KindUnavailable, Message: fmt.Sprintf("the plugin cannot be loaded again: %v", ch.err), Err: ch.err}
	}
	return nil
}

// loaded returns the compiled module. The code must be in use.
func (c *code) loaded() wazero.CompiledModule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body.compiled
}

// hold adds a use of code that has one.
func (c *code) hold() {
	c.mu.Lock()
	c.users++
	c.mu.Unlock()
}

func (c *code) unuse() {
	now := time.Now()
	c.mu.Lock()
	c.users--
	c.used = now
	c.mu.Unlock()
}

// beginLoad starts a load. The caller holds mu, and keeps the engine open.
func (c *code) beginLoad() *change {
	ch := &change{done: make(chan struct{})}
	if ok, _ := c.engine.users.enter(-1); !ok {
		ch.err = ErrClosed
		close(ch.done)
		return ch
	}
	c.change = ch
	go func() {
		defer c.engine.users.leave()
		b, err := c.reload(c.engine.stop)
		c.settle(ch, b, err)
		c.engine.loaded.fit()
	}()
	return ch
}

// settle ends a change. Code that nobody refers to any more is closed.
func (c *code) settle(ch *change, b body, err error) {
	c.mu.Lock()
	c.body, c.change, ch.err = b, nil, err
	c.used = time.Now()
	gone := c.refs == 0
	if gone {
		c.body = body{}
	}
	c.mu.Unlock()
	if gone {
		_ = b.close()
	}
	close(ch.done)
}

func (b body) close() error {
	if b.compiled == nil {
		return nil
	}
	return b.compiled.Close(context.Background())
}

// errBytesGone means that neither the cache nor the plugin's file has the module any more.
var errBytesGone = errors.New("its compiled form was removed, and so were the bytes that it was made of")

// reload loads the module from the cache, or compiles the bytes again.
func (c *code) reload(ctx context.Context) (body, error) {
	e := c.engine
	if p, ok := e.preparedBefore(c.digest); ok {
		if b, err := e.load(ctx, p); !errors.Is(err, errNoCode) {
			return b, err
		}
	}
	again := c.readAgain()
	if again == nil {
		return body{}, errBytesGone
	}
	wasm, err := again(ctx)
	if err != nil {
		return body{}, err
	}
	if digestText(wasm) != c.digest {
		return body{}, errBytesGone
	}
	p, err := e.prepareAnew(wasm)
	if err != nil {
		return body{}, err
	}
	b, err := e.load(ctx, p)
	if err == nil {
		e.keepPrepared(p, c.digest)
	}
	return b, err
}

func (c *code) readAgain() func(context.Context) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.again
}

// reloads reports whether the module can be loaded again.
func (c *code) reloads() bool {
	e := c.engine
	return e.folder != "" && e.version != "" && (c.readAgain() != nil || e.folder.HasModule(c.digest, e.version) && e.folder.HasCode(c.Mark))
}

// unload releases the machine code, the data segments, and the images and idle instances of all pools, unless they are
// in use. It returns the bytes that were released.
func (c *code) unload() uint64 {
	if !c.reloads() {
		return 0
	}
	size := c.size()
	c.mu.Lock()
	if c.users > 0 || c.change != nil || c.body.compiled == nil {
		c.mu.Unlock()
		return 0
	}
	ch := &change{done: make(chan struct{})}
	c.change = ch
	b, shelves := c.body, c.shelvesLocked()
	c.mu.Unlock()
	for _, s := range shelves {
		s.close()
	}
	_ = b.close()
	c.settle(ch, body{}, nil)
	return size
}

func (c *code) shelvesLocked() []*shelf {
	all := make([]*shelf, 0, len(c.shelves))
	for s := range c.shelves {
		all = append(all, s)
	}
	return all
}

// size returns the bytes of the loaded code and of the images; 0 if it is not loaded.
func (c *code) size() uint64 {
	c.mu.Lock()
	n, shelves := c.body.size, c.shelvesLocked()
	if d := c.body.data; d != nil {
		for _, s := range d.all {
			n += uint64(len(s.Bytes))
		}
	}
	c.mu.Unlock()
	for _, s := range shelves {
		n += s.size()
	}
	return n + c.images.Resident()
}

// idleSince returns the end of the last use of loaded code; false if it is in use or not loaded.
func (c *code) idleSince() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.users == 0 && c.change == nil && c.body.compiled != nil
}

// segments returns the data segments, read from the cache if they were let go. The code must be in use.
func (c *code) segments() ([]rewrite.Data, error) {
	c.mu.Lock()
	d := c.body.data
	c.mu.Unlock()
	if d != nil {
		return d.all, nil
	}
	p, ok := c.engine.preparedBefore(c.digest)
	if !ok {
		again := c.readAgain()
		if again == nil {
			return nil, errBytesGone
		}
		wasm, err := again(c.engine.stop)
		if err == nil && digestText(wasm) != c.digest {
			err = errBytesGone
		}
		if err == nil {
			p, err = c.engine.prepareAnew(wasm)
		}
		if err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.body.data = &segments{p.data}
	return p.data, nil
}

// dropSegments lets the data segments go, if they can be read again.
func (c *code) dropSegments() {
	if !c.reloads() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.body.data = nil
}

// keep registers the shelf of a pool, and retains the code for it.
func (c *code) keep(s *shelf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refs++
	c.shelves[s] = true
}

// add registers one more shelf of a pool, and forget ends that.
func (c *code) add(s *shelf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shelves[s] = true
}

func (c *code) forget(s *shelf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shelves, s)
}

// retain adds a reference; false means that there is none left.
func (c *code) retain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refs == 0 {
		return false
	}
	c.refs++
	return true
}

// release drops a reference, and the shelf of a pool if s is not nil. The last one closes the code.
func (c *code) release(s *shelf) error {
	e := c.engine
	e.loaded.mu.Lock()
	defer e.loaded.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shelves, s)
	if c.refs--; c.refs > 0 {
		return nil
	}
	delete(e.loaded.all, c.digest)
	b := c.body
	if c.change != nil {
		return nil // it ends with settle
	}
	c.body = body{}
	return b.close()
}
