package child

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// BenchmarkMessages sends messages over a pipe, as between fettle and its compiler.
func BenchmarkMessages(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 32 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) { benchmarkMessages(b, size) })
	}
}

func benchmarkMessages(b *testing.B, size int) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	payload := bytes.Repeat([]byte{7}, size)
	go func() {
		defer w.Close()
		for range b.N {
			if err := (conn{w: w}).send(kindAnswer, payload); err != nil {
				b.Error(err)
			}
		}
	}()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for range b.N {
		if _, got, err := (conn{r: r}).receive(); err != nil || len(got) != size {
			b.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}
