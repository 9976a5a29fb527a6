package duration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/duration"
)

func TestParse(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute,
		"250ms": 250 * time.Millisecond, "2d": 2 * day, "1w": 7 * day, "1d12h": 36 * time.Hour,
		"1w2d3h": 9*day + 3*time.Hour, "36500d": duration.Max,
	} {
		if got, err := duration.Parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "is not a duration", "soon": "is not a duration", "30": `did you mean "30s"`, "1d2w": "is not a duration",
		"1.5d": "is not a duration",
		"-5s":  "is negative", "1d-2h": "is not a duration", "+5s": "is not a duration", "1d+5s": "is not a duration",
		"36501d": "not a duration", "5200w365d": "longer than 100 years",
		"876001h": "is not a duration", "99999999999w": "is not a duration", "5 m": "is not a duration",
		"1d ": "is not a duration", "1dd": "is not a duration",
		strings.Repeat("9", 100) + "s": `"9999999999999999999999999999999999999999" is not`,
	} {
		if d, err := duration.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, d, err, want)
		}
	}
}

// TestTextIsRead: Parse reads what Text wrote, and Text is what time.Duration prints, but for zeros.
func TestTextIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(duration.Max)).Draw(t, "d"))
		if rapid.Bool().Draw(t, "whole") {
			d = d.Round(time.Minute)
		}
		text := duration.Text(d)
		if got, err := duration.Parse(text); err != nil || got != d {
			t.Fatalf("%s: %v, %v, want %v", text, got, err, d)
		}
		if d != 0 && (strings.HasSuffix(text, "m0s") || strings.HasSuffix(text, "h0m")) {
			t.Fatalf("%v is written %s", d, text)
		}
	})
}

func ExampleParse() {
	d, err := duration.Parse("1d12h")
	fmt.Println(duration.Text(d), err)
	// Output: 36h <nil>
}
