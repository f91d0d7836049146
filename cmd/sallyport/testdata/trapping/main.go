// Trapping is a guest that panics instead of describing itself.
package main

func main() {}

//go:wasmexport mcp_handle
func handle(size int32) int32 { panic("no description today") }
