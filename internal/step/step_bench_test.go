package step_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
)

// manySteps is a list as a compiler writes it: every verb that is common, with
// digests and source comments.
func manySteps(n int) []byte {
	var b strings.Builder
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for i := 0; i < n; i++ {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "MKDIR /srv/site%d owner=www-data group=www-data mode=0755 #@ modules/web/module.hcl:%d\n", i, i)
		case 1:
			fmt.Fprintf(&b, "PKG package%d version=1.22.1-9 #@ modules/web/module.hcl:%d\n", i, i)
		case 2:
			fmt.Fprintf(&b, "EDIT /etc/hosts block=site%d content=\"10.0.0.%d host%d\\n\" #@ modules/web/module.hcl:%d\n", i,
				i%250, i, i)
		case 3:
			fmt.Fprintf(&b, "UNIT site%d.service enabled=true active=true #@ modules/web/module.hcl:%d\n", i, i)
		default:
			fmt.Fprintf(&b, "COPY %s /srv/site%d/index%d.html owner=www-data mode=0644 #@ modules/web/module.hcl:%d\n", digest,
				i-i%8, i, i)
		}
	}
	return []byte(b.String())
}

func parsed(b *testing.B, src []byte) step.List {
	b.Helper()
	list, diags := step.Parse("bench.steps", src)
	if err := diags.Err(); err != nil {
		b.Fatal(err)
	}
	return list
}

func BenchmarkParse10000(b *testing.B) {
	src := manySteps(10_000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if list, diags := step.Parse("bench.steps", src); len(list) != 10_000 || len(diags) != 0 {
			b.Fatal(len(list), diags)
		}
	}
}

func BenchmarkPrint10000(b *testing.B) {
	list := parsed(b, manySteps(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if err := step.Print(io.Discard, list, step.PrintOptions{Source: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListString10000(b *testing.B) {
	list := parsed(b, manySteps(10_000))
	b.ReportAllocs()
	for b.Loop() {
		_ = list.String()
	}
}

func BenchmarkDigest10000(b *testing.B) {
	list := parsed(b, manySteps(10_000))
	b.ReportAllocs()
	for b.Loop() {
		_ = list.Digest()
	}
}

func BenchmarkLint10000(b *testing.B) {
	list := parsed(b, manySteps(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if d := step.Lint(list, step.DebianBase{}); d.HasErrors() {
			b.Fatal(d[0])
		}
	}
}

func BenchmarkDiff10000(b *testing.B) {
	old, new := parsed(b, manySteps(10_000)), parsed(b, manySteps(9_990))
	b.ReportAllocs()
	for b.Loop() {
		if d := step.Diff(old, new); len(d) != 10 {
			b.Fatal(len(d))
		}
	}
}

// BenchmarkLineReader10000 reads the lines of a state.
func BenchmarkLineReader10000(b *testing.B) {
	var lines []string
	for _, s := range parsed(b, manySteps(10_000)) {
		lines = append(lines, s.String())
	}
	b.ReportAllocs()
	for b.Loop() {
		var r step.LineReader
		for _, line := range lines {
			if _, err := r.Read(line); err != nil {
				b.Fatal(err)
			}
		}
	}
}
