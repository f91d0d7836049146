// Command stdin answers each line it reads, while a timer runs.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	ticks := 0
	done := make(chan int)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		n := 0
		for lines.Scan() {
			n++
			fmt.Println("got", lines.Text())
		}
		done <- n
	}()
	for {
		select {
		case n := <-done:
			fmt.Println("end", n, ticks > 0)
			return
		case <-time.After(5 * time.Millisecond):
			ticks++
		}
	}
}
