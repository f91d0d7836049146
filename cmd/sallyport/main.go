// Sallyport loads WebAssembly plugins from a folder and serves their tools, resources and prompts to MCP clients. A
// plugin can access only resources that it was granted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/internal/heap"
	"github.com/sallyport-mcp/sallyport/registry/script"
)

func main() { os.Exit(main1()) }

// main1 runs the program and returns its exit code, so that deferred calls run and tests can call it.
func main1() int {
	heap.CollectAsUsual()
	ctx, stop := untilSignal()
	defer stop()
	script.Isolate(host.BundleInChild)
	return run(ctx, os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}

// untilSignal returns a context that is cancelled by the first signal. A second signal then ends the process at once.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}

// endings returns the signals that stop the program gracefully. SIGHUP is sent when a terminal closes; it is left out
// for a program started to outlive it (nohup).
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
