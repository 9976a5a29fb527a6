package sealed

import (
	"bytes"

	"fettle.dev/fettle/internal/secret"
)

// longestLine is the number of bytes of a line that are held back until the end of the line.
const longestLine = 64 << 10

// maskedLines forwards output line by line, without secrets: a secret in two pieces would not be
// recognized. Only one goroutine at a time can use it.
type maskedLines struct {
	masker *secret.Masker
	watch  func(stderr bool, p []byte)
	held   [2][]byte
}

func (l *maskedLines) write(stderr bool, p []byte) {
	held := &l.held[streamOf(stderr)]
	*held = append(*held, p...)
	end := bytes.LastIndexByte(*held, '\n') + 1
	if end == 0 && len(*held) > longestLine {
		end = len(*held)
	}
	if end > 0 {
		l.watch(stderr, l.masker.Bytes((*held)[:end]))
		*held = append((*held)[:0], (*held)[end:]...)
	}
}

// flush forwards output without an end of line.
func (l *maskedLines) flush() {
	for _, stderr := range []bool{false, true} {
		if held := l.held[streamOf(stderr)]; len(held) > 0 {
			l.watch(stderr, l.masker.Bytes(held))
		}
	}
}

func streamOf(stderr bool) int {
	if stderr {
		return 1
	}
	return 0
}
