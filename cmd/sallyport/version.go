package main

import (
	"cmp"
	"strings"
)

// older reports whether a version comes before a second one by the order of semantic versions, also with a v in front or
// with fewer or more numbers. Texts that are no versions are never older.
func older(version, than string) bool {
	a, preA, okA := versionParts(version)
	b, preB, okB := versionParts(than)
	if !okA || !okB {
		return false
	}
	for i := range max(len(a), len(b)) {
		if c := compareNumbers(part(a, i, "0"), part(b, i, "0")); c != 0 {
			return c < 0
		}
	}
	if preA == "" || preB == "" {
		return preA != "" && preB == ""
	}
	a, b = strings.Split(preA, "."), strings.Split(preB, ".")
	for i := range max(len(a), len(b)) {
		if c := comparePre(part(a, i, ""), part(b, i, "")); c != 0 {
			return c < 0
		}
	}
	return false
}

// versionParts returns the numbers of a version, and its text behind the first dash.
func versionParts(version string) (numbers []string, pre string, ok bool) {
	version = strings.TrimLeft(strings.TrimSpace(version), "vV")
	version, _, _ = strings.Cut(version, "+")
	version, pre, _ = strings.Cut(version, "-")
	numbers = strings.Split(version, ".")
	for _, n := range numbers {
		if !isNumber(n) {
			return nil, "", false
		}
	}
	return numbers, pre, true
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func part(parts []string, i int, missing string) string {
	if i < len(parts) {
		return parts[i]
	}
	return missing
}

// compareNumbers compares digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// comparePre compares identifiers of a pre-release: numbers come before other texts, and a missing one before all.
func comparePre(a, b string) int {
	switch x, y := isNumber(a), isNumber(b); {
	case x && y:
		return compareNumbers(a, b)
	case a != "" && b != "" && x != y:
		if x {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
