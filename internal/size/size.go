// Package size reads and writes sizes as users write them, on the command line and in the language: a
// whole number with its unit.
//
//	n, err := size.Parse("512MiB") // bytes
//	size.Text(n)                   // "512MiB"
//
// The units are B; KiB, MiB, GiB and TiB, powers of 1024, also as K, M, G and T; and kB, KB, MB, GB
// and TB, powers of 1000. Programs of util-linux read sizes in the same way.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units lists the spellings of all units with their sizes in bytes. Text uses the first five.
func units() []unit {
	return []unit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
		{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3},
	}
}

type unit struct {
	name  string
	bytes int64
}

// Parse reads a size, in bytes. 0 needs no unit. An error quotes the text and shows users how to write
// it.
func Parse(text string) (int64, error) {
	if text == "0" {
		return 0, nil
	}
	digits := strings.TrimRight(text, "BKMGTik")
	for _, u := range units() {
		if text[len(digits):] != u.name {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			break
		}
		if n > math.MaxInt64/uint64(u.bytes) {
			return 0, fmt.Errorf("%q is larger than %d TiB", clip(text), math.MaxInt64>>40)
		}
		return int64(n) * u.bytes, nil
	}
	return 0, fmt.Errorf("%q is not a size: write a whole number with its unit, such as 512KiB, 64MiB or 2GB%s",
		clip(text), near(text))
}

// near suggests a size for a number without a unit, and for a unit in another case.
func near(text string) string {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return fmt.Sprintf("; did you mean %q", strconv.FormatUint(n, 10)+"MiB")
	}
	for _, u := range units() {
		digits := strings.TrimSuffix(strings.ToLower(text), strings.ToLower(u.name))
		if n, err := strconv.ParseUint(digits, 10, 31); err == nil {
			return fmt.Sprintf("; did you mean %q", strconv.FormatUint(n, 10)+u.name)
		}
	}
	return ""
}

func clip(text string) string {
	const limit = 40 // bytes
	return text[:min(len(text), limit)]
}

// Text returns a size that is not negative in its largest exact unit: 512MiB. Parse reads it.
func Text(n int64) string {
	for _, u := range units() {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return "0"
}

// Rounded formats a number of bytes for display: 512 B, 1.5 KiB, 3.0 MiB.
func Rounded(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		v, unit = v/1024, u
		if v < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
