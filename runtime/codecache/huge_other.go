//go:build !linux || portable

package codecache

func hugePages([]byte) {}
