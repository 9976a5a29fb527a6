package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

// sealMark begins the line that ends a sealed file.
const sealMark = "crc32c "

// seal makes the content of a sealed file: JSON and its checksum.
func seal(v any) ([]byte, error) {
	b, err := marshalSealed(v)
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	return fmt.Appendf(b, "%s%08x\n", sealMark, crc32.Checksum(b, castagnoli())), nil
}

func marshalSealed(v any) ([]byte, error) {
	if st, ok := v.(State); ok {
		return marshalState(&st)
	}
	return Marshal(v)
}

func unmarshalSealed(b []byte, v any) error {
	if st, ok := v.(*State); ok {
		b = bytes.TrimSuffix(b, []byte("\n"))
		return stepFault(b, unmarshalState(b, st))
	}
	return Unmarshal(b, v)
}

func unseal(b []byte, v any) error {
	end := len(b) - len(sealMark) - 9
	if end < 1 || !bytes.Equal(b[end:], fmt.Appendf(nil, "%s%08x\n", sealMark, crc32.Checksum(b[:end], castagnoli()))) {
		return errDamaged
	}
	err := unmarshalSealed(b[:end], v)
	if err != nil && !refuses(err) {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}

var errDamaged = errors.New("it is damaged")
