package powercut

import (
	"fmt"
)

// A disk was told to write "a", to flush, and to write "b" and "c" in other
// blocks; then the power went.
func ExampleImage_Cut() {
	write := func(block int64, text string) Op {
		return Op{kind: opWrite, off: block * Block, n: 1, data: []byte(text)}
	}
	image, err := NewImage(3*Block, nil, []Op{write(0, "a"), {kind: opFlush}, write(1, "b"), write(2, "c")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, keep := range []Keep{None, Half, All} {
		disk, err := image.Cut(4, keep, 3)
		if err != nil {
			fmt.Println(err)
			return
		}
		held := make([]byte, 3)
		for i := range held {
			_, _ = disk.ReadAt(held[i:i+1], int64(i)*Block)
		}
		disk.Close()
		fmt.Printf("%s: %q\n", keep, held)
	}
	// Output:
	// none: "a\x00\x00"
	// half: "ab\x00"
	// all: "abc"
}
