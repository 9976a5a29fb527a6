// Package duration reads and writes durations as users write them, on the command line, in the
// language and in lists: a number with its unit, such as 90s, 5m, 2h, 7d or 1w, or several of them
// from the largest to the smallest.
//
//	d, err := duration.Parse("1d12h") // 36 hours
//	duration.Text(d)                  // "36h"
//
// A day has 24 hours and a week 7 days. time.ParseDuration defines the smaller units.
package duration

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Max is the longest duration that Parse accepts: 100 years of 365 days.
const Max = 100 * 365 * 24 * time.Hour

// Parse reads a duration from 0 to Max. An error quotes the text and shows users how to write it.
func Parse(text string) (time.Duration, error) {
	sum, rest := time.Duration(0), text
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		before, after, found := strings.Cut(rest, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(before, 10, 31)
		if err != nil || n > uint64(Max/u.size) {
			return 0, invalid(text)
		}
		sum, rest = sum+time.Duration(n)*u.size, after
	}
	if rest == "" && rest != text {
		return bounded(text, sum)
	}
	d, err := time.ParseDuration(rest)
	if err != nil || strings.HasPrefix(rest, "+") || rest != text && d < 0 || d > Max {
		return 0, invalid(text)
	}
	return bounded(text, sum+d)
}

func bounded(text string, d time.Duration) (time.Duration, error) {
	switch {
	case d < 0:
		return 0, fmt.Errorf("%q is negative: write a duration such as 30s", clip(text))
	case d > Max:
		return 0, fmt.Errorf("%q is longer than 100 years", clip(text))
	}
	return d, nil
}

// invalid is the error for a text that is not a duration, with a suggestion for a plain number.
func invalid(text string) error {
	hint := ""
	if n, err := strconv.ParseUint(text, 10, 31); err == nil && n > 0 {
		hint = fmt.Sprintf("; did you mean %q", text+"s")
	}
	return fmt.Errorf("%q is not a duration: write a number with its unit, such as 90s, 5m, 2h, 7d or 1w%s", clip(text),
		hint)
}

func clip(text string) string {
	const limit = 40 // bytes
	return text[:min(len(text), limit)]
}

// Text writes a duration without units that are zero: 5m, not 5m0s. Its longest unit is the hour.
// Parse reads it.
func Text(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-len("0s")]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-len("0m")]
	}
	return s
}
