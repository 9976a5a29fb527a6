package bus

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// MaxBatch bounds the records that are appended as one, in bytes with four for each.
const MaxBatch = 1 << 20

const (
	batchPlain    = 1 // the first byte: format and compression
	batchDeflated = 2
	batchHead     = 1 + 4 // and the checksum of what follows, uncompressed
)

// batches packs and opens batches. The zero value is ready; it may be used from any goroutine.
type batches struct{ writers, readers sync.Pool } // a writer is a megabyte, and each commit needs one

// pack makes one message of records: a byte for the format, CRC-32C, and for each
// record its length as a uvarint and its bytes. What does not get smaller is not
// compressed.
func (p *batches) pack(records [][]byte) ([]byte, error) {
	var plain []byte
	for _, r := range records {
		plain = binary.AppendUvarint(plain, uint64(len(r)))
		plain = append(plain, r...)
	}
	if len(plain) > MaxBatch {
		return nil, fmt.Errorf("cannot append %d bytes at once: %d are the most", len(plain), MaxBatch)
	}
	head := binary.BigEndian.AppendUint32([]byte{batchPlain}, checksum(plain))
	small, err := p.deflate(plain)
	if err == nil && len(small) < len(plain) {
		head[0], plain = batchDeflated, small
	}
	return append(head, plain...), err
}

func (p *batches) deflate(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	w, ok := p.writers.Get().(*flate.Writer)
	if ok {
		w.Reset(&out)
	} else {
		var err error
		if w, err = flate.NewWriter(&out, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer p.writers.Put(w)
	_, err := w.Write(plain)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func (p *batches) inflate(b []byte) ([]byte, error) {
	in := bytes.NewReader(b)
	r, ok := p.readers.Get().(io.ReadCloser)
	if !ok {
		r = flate.NewReader(in)
	} else if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer p.readers.Put(r)
	return io.ReadAll(io.LimitReader(r, MaxBatch+1))
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// open reads one. It trusts nothing, and never takes more than MaxBatch.
func (p *batches) open(b []byte) ([][]byte, error) {
	if len(b) < batchHead {
		return nil, errors.New("cannot read a batch that ends in its head")
	}
	plain := b[batchHead:]
	switch b[0] {
	case batchPlain:
	case batchDeflated:
		var err error
		if plain, err = p.inflate(plain); err != nil {
			return nil, fmt.Errorf("cannot read a batch: %w", err)
		}
	default:
		return nil, fmt.Errorf("cannot read a batch of format %d: this program knows %d and %d", b[0], batchPlain, batchDeflated)
	}
	if len(plain) > MaxBatch || checksum(plain) != binary.BigEndian.Uint32(b[1:batchHead]) {
		return nil, errors.New("cannot read a batch: it is not what was written")
	}
	return records(plain)
}

func records(plain []byte) ([][]byte, error) {
	var out [][]byte
	for len(plain) > 0 {
		size, n := binary.Uvarint(plain)
		if n <= 0 || size > uint64(len(plain)-n) {
			return nil, errors.New("cannot read a batch: a record is longer than it")
		}
		end := n + int(size)
		out = append(out, plain[n:end:end])
		plain = plain[end:]
	}
	return out, nil
}
