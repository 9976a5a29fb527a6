package size_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/size"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "0B": 0, "0MiB": 0, "7B": 7, "512KiB": 512 << 10, "512K": 512 << 10,
		"64MiB": 64 << 20, "64M": 64 << 20, "2GiB": 2 << 30, "2G": 2 << 30,
		"1TiB": 1 << 40, "1T": 1 << 40, "3kB": 3000, "3KB": 3000, "5MB": 5e6, "2GB": 2e9, "1TB": 1e12, "007MiB": 7 << 20,
		"9223372036854775807B": math.MaxInt64, "8388607TiB": 8388607 << 40,
	} {
		if got, err := size.Parse(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "is not a size", "M": "is not a size", "big": "is not a size",
		"512": `did you mean "512MiB"`, "512mib": `did you mean "512MiB"`, "2g": `did you mean "2G"`,
		"-5MiB": "is not a size", "+5MiB": "is not a size", "1.5GiB": "is not a size",
		"5 MiB": "is not a size", "5MiB ": "is not a size", "5MiBs": "is not a size",
		"1M1K": "is not a size", "5Mi": "is not a size", "8388608TiB": "is larger than",
		"9223372036854775808B":         "is not a size",
		strings.Repeat("9", 100) + "M": `"9999999999999999999999999999999999999999" is not`,
	} {
		if n, err := size.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v, want %s", text, n, err, want)
		}
	}
}

// TestTextIsRead: Parse returns the size that Text wrote.
func TestTextIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64>>20).Draw(t, "n") << rapid.IntRange(0, 20).Draw(t, "shift")
		text := size.Text(n)
		if got, err := size.Parse(text); err != nil || got != n {
			t.Fatalf("%s: %d, %v, want %d", text, got, err, n)
		}
		if n >= 1<<20 && n%(1<<20) == 0 && strings.HasSuffix(text, "KiB") {
			t.Fatalf("%d is written %s, not in its largest unit", n, text)
		}
	})
}

func ExampleParse() {
	n, err := size.Parse("64MiB")
	fmt.Println(n, size.Text(n), err)
	// Output: 67108864 64MiB <nil>
}
