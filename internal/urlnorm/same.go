package urlnorm

import (
	"slices"
	"strconv"
	"strings"
)

// maxSame bounds a compared value, in bytes. Ordinary values are shorter.
const maxSame = 16 << 10

// Same reports whether a program may treat a value as equal to a named one: as a text, a path or a number. It is true
// for a value of more than 16 KiB.
func Same(named, value string) bool {
	if named == value || len(value) > maxSame {
		return true
	}
	bone := strings.TrimSpace(Skeleton(named))
	for _, text := range append(decodings(value), value) {
		if Meets(bone, strings.TrimSpace(Skeleton(text))) || sameNumber(bone, Skeleton(stripped(text))) {
			return true
		}
	}
	return samePath(named, value)
}

func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, other := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return err == nil && other == nil && x == y
}

// samePath compares two paths with dots resolved and without a trailing slash.
func samePath(named, value string) bool {
	all := Skeletons("/" + Path(value))
	if len(all) >= MaxReadings {
		return true
	}
	want := stepsOf(named, Skeleton)
	return slices.ContainsFunc(all, func(steps []string) bool { return slices.EqualFunc(ended(want), ended(steps), Meets) })
}

func ended(steps []string) []string {
	if last := len(steps) - 1; last > 0 && steps[last] == "" {
		return steps[:last]
	}
	return steps
}
