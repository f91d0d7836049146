package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// many is the number of plugins, or instances of one plugin, at once.
const many = 1000

// benchMemory measures the memory kept by a thousand plugins that were called once, an image and an instance each, and by
// a thousand instances of one plugin during a call. The code is shared.
func benchMemory(ctx context.Context, engine *runtime.Engine) ([]row, error) {
	var rows []row
	for _, g := range echoGuests() {
		if g.name == "hand" {
			continue // its memory size is fixed
		}
		wasm, err := g.wasm(0)
		if err != nil {
			return nil, err
		}
		module, err := engine.Compile(ctx, wasm)
		if err != nil {
			return nil, err
		}
		plugins, err := idlePlugins(ctx, module, g.request(100, 0))
		if err != nil {
			return nil, err
		}
		instances, err := busyInstances(ctx, module, g.request(100, 0))
		if err = errors.Join(err, module.Close()); err != nil {
			return nil, err
		}
		rows = append(rows,
			row{Name: "idle_1000_plugins_" + g.name + "_MB", Value: plugins, Unit: "MiB", note: "an image and an instance each, without the code"},
			row{Name: "busy_1000_instances_" + g.name + "_MB", Value: instances, Unit: "MiB", note: "of one plugin, all of them in a call"})
	}
	return rows, nil
}

// idlePlugins returns the memory kept by many plugins, in MiB.
func idlePlugins(ctx context.Context, m *runtime.Module, r runtime.Request) (float64, error) {
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	before := resident()
	var all []*gatedPool
	var err error
	for range many {
		p := newGatedPool(gates, m, native.New(), &runtime.PoolOptions{})
		all, err = append(all, p), errors.Join(err, p.call(ctx, r))
	}
	kept := resident() - before
	for _, p := range all {
		err = errors.Join(err, p.Close(ctx))
	}
	return float64(kept) / (1 << 20), err
}

// crowd is the native dialect, but answers only when many calls are in progress at once.
type crowd struct {
	runtime.Dialect
	all  *sync.WaitGroup
	rest chan struct{}
}

func (c *crowd) Serve(ctx context.Context, in *runtime.Instance, r runtime.Request) (json.RawMessage, error) {
	result, err := c.Dialect.Serve(ctx, in, r)
	if r.Method == "tools/call" {
		c.all.Done()
		<-c.rest
	}
	return result, err
}

// busyInstances returns the memory of many instances that have served a call and are not restored yet, in MiB.
func busyInstances(ctx context.Context, m *runtime.Module, r runtime.Request) (float64, error) {
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	c := &crowd{native.New(), &sync.WaitGroup{}, make(chan struct{})}
	c.all.Add(many)
	p := newGatedPool(gates, m, c, &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: many}})
	errs := make(chan error, many)
	before := resident()
	for range many {
		go func() {
			err := p.call(ctx, r)
			errs <- err
		}()
	}
	together := make(chan struct{})
	go func() { c.all.Wait(); close(together) }()
	select {
	case <-together:
	case err := <-errs: // ended early
		return 0, errors.Join(errors.New("an instance did not wait for the others"), err)
	}
	taken := resident() - before
	close(c.rest)
	var err error
	for range many {
		err = errors.Join(err, <-errs)
	}
	return float64(taken) / (1 << 20), errors.Join(err, p.Close(ctx))
}

// resident returns the memory that this process keeps, in bytes; 0 where the system does not report it.
func resident() int { return keptBy(os.Getpid()) }

// keptBy returns the memory of a process that no other one shares, in bytes: its anonymous pages, and the files of its
// images, also their pages that it has not touched. A page of an image counts once, however many mappings share it.
func keptBy(pid int) int {
	return kibibytesIn(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss_Anon:") + imagesOf(pid)
}

// residentOf returns the resident memory of a process in bytes, 0 where the system does not report it.
func residentOf(pid int) int { return kibibytesIn(fmt.Sprintf("/proc/%d/status", pid), "VmRSS:") }

// cpuOf returns the processor time that a process has used, in hundredths of a second, 0 where the system does not report
// it.
func cpuOf(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name before may contain anything
	if len(fields) < 13 {
		return 0
	}
	var user, system int
	_, _ = fmt.Sscan(fields[11], &user)
	_, _ = fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func kibibytesIn(file, name string) int {
	text, _ := os.ReadFile(file)
	_, after, _ := strings.Cut(string(text), name)
	var kib int
	_, _ = fmt.Sscan(after, &kib)
	return kib << 10
}
