// Command stdin answers each line it reads, and prints a tick when a timer has run after that.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	got, done := make(chan bool, 1), make(chan int)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		n := 0
		for lines.Scan() {
			n++
			fmt.Println("got", lines.Text())
			got <- true
		}
		done <- n
	}()
	var tick <-chan time.Time
	for {
		select {
		case n := <-done:
			fmt.Println("end", n)
			return
		case <-got:
			tick = time.After(5 * time.Millisecond)
		case <-tick:
			fmt.Println("tick")
		}
	}
}
