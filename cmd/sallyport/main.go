// Sallyport loads WebAssembly plugins from a folder and serves their tools, resources and prompts
// to MCP clients. A plugin can touch nothing that it was not granted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(main1()) }

// main1 is the program with its exit code, so that deferred calls run and tests can call it.
func main1() int {
	ctx, stop := untilSignal()
	defer stop()
	return run(ctx, os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}

// untilSignal returns a context that the first signal ends. By then a second one ends the process at once.
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

// endings are the signals that end the program in order. SIGHUP is that of a terminal that closes; a program that was
// started to outlive it (nohup) goes on.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
