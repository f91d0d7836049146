package grant

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type unit struct {
	name  string
	bytes int64
}

// units are the units of a size, largest first.
func units() [4]unit {
	return [4]unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// ParseSize reads a size: 512B, 64KiB, 8MiB, 1GiB. A number without a unit is an error, since it is ambiguous.
func ParseSize(text string) (int64, error) {
	scale := int64(0)
	number := text
	for _, u := range units() {
		if n, found := strings.CutSuffix(text, u.name); found {
			number, scale = n, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err == nil && n > 0 && scale == 0 {
		return 0, fmt.Errorf("%q has no unit: write such as %sMiB, %sKiB or %sB", text, number, number, number)
	}
	if err != nil || n <= 0 || n > math.MaxInt64/max(scale, 1) || number[0] == '+' {
		return 0, fmt.Errorf("%q is not a size: write such as 64KiB", text)
	}
	return n * scale, nil
}

// FormatSize returns a size in the form of ParseSize, in the largest unit that divides it.
func FormatSize(n int64) string {
	for _, u := range units() {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
