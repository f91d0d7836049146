// Flags has an option of package flag.
package main

import (
	"flag"
	"fmt"
)

var greeting = flag.String("greeting", "hi", "the first word")

func main() {
	flag.Parse()
	fmt.Println(*greeting, flag.Args())
}
