// Goguest is a library of what a hostile or broken Go guest does, one export each.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o goguest.wasm .
package main

import (
	"os"
	"runtime"
	"sync"
	"time"
)

func main() {}

// kept is what one call leaves for the next.
var (
	kept    = map[string][]byte{}
	secret  string
	open    *os.File
	leaked  = make(chan string, 1)
	forever sync.WaitGroup
)

//go:wasmexport spin
func spin() int32 {
	for n := int32(1); ; n++ {
		if n == 0 {
			secret += "."
		}
	}
}

//go:wasmexport spin_beside
func spinBeside() int32 {
	go spin()
	forever.Add(1)
	forever.Wait()
	return 1
}

//go:wasmexport allocate
func allocate() int32 {
	for i := 0; ; i++ {
		kept[string(rune(i))] = make([]byte, 1<<16)
	}
}

//go:wasmexport recurse
func recurse() int32 { return deeper(1) }

func deeper(n int32) int32 {
	if n == 0 {
		return 0
	}
	return deeper(n+1) + 1
}

//go:wasmexport deadlock
func deadlock() int32 {
	<-make(chan int)
	return 1
}

//go:wasmexport panics
func panics() int32 { panic("on purpose") }

//go:wasmexport trap
func trap() int32 {
	var none *int32
	return *none
}

//go:wasmexport exit
func exit() int32 {
	os.Exit(3)
	return 1
}

//go:wasmexport sleep
func sleep() int32 {
	time.Sleep(30 * time.Minute)
	return 1
}

//go:wasmexport oversleep
func oversleep() int32 {
	time.Sleep(365 * 24 * time.Hour)
	return 1
}

// keep answers how many of the places in which it keeps a secret hold one already.
//
//go:wasmexport keep
func keep() int32 {
	found := int32(0)
	for _, is := range []bool{secret != "", len(kept) > 0, open != nil, len(leaked) > 0, os.Getenv("SECRET") != "", runtime.NumGoroutine() > 4} {
		if is {
			found++
		}
	}
	secret, kept["secret"] = "secret", []byte("secret")
	open, _ = os.Open("/")
	leaked <- "secret"
	_ = os.Setenv("SECRET", "secret")
	for range 10 {
		go func() { time.Sleep(time.Hour) }()
	}
	runtime.Gosched()
	return found
}
