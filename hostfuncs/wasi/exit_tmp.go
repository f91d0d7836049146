package wasi

func exit(code uint32) { panic(code) }
