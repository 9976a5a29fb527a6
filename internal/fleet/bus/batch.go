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

	"github.com/klauspost/compress/zstd"
)

// MaxBatch bounds the records that are appended as one, in bytes with four for each.
const MaxBatch = 1 << 20

const (
	batchPlain    = 1     // the first byte: format and compression
	batchDeflated = 2     // as logs have it that are older
	batchZstd     = 3     // with batchWords as its dictionary
	batchHead     = 1 + 4 // and the checksum of what follows, uncompressed
)

// batchWords is what records mostly have: most batches are a few of them, and would tell it
// anew. It belongs to the format, and stays as it is for ever.
const batchWords = `{"format":"fettle.event/1","at":17,"kind":"granted","target":"","by":"token ","text":"renew: certificate enrol: certificate  for web until 2026-11-T:Z"}` +
	`,"drift":0,"run":1,"changed":17,"facts":{"memory":"8 GiB","os":"debian 13"}},"since":1}` +
	`{"format":"fettle.report/1","target":"","seq":1,"boot":"b","at":17,"event":{"kind":"started","text":"generation "},"kind":"drifted","kind":"ready","run":1,"module":"modules/"` +
	`"text":"generation ","changes":1},"status":{"epoch":17,"generation":1,"version":"","modules":[{"module":"modules/","commit":"","bundle":"sha256:","state":"pending","since":17` +
	`","state":"ready","since":17}],"drift":0,"frozen":"","run":1,"changed":0,"error":""}}`

// batches packs and opens batches. The zero value is ready; it may be used from any goroutine.
type batches struct{ writers, readers, inflaters sync.Pool } // a writer is a megabyte, and each commit needs one

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
	small, err := p.compress(plain)
	if err == nil && len(small) < len(plain) {
		head[0], plain = batchZstd, small
	}
	return append(head, plain...), err
}

// compress makes records smaller: a batch of many, who say nearly the same, by far.
func (p *batches) compress(plain []byte) ([]byte, error) {
	w, ok := p.writers.Get().(*zstd.Encoder)
	if !ok {
		var err error
		w, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(MaxBatch/4),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithEncoderDictRaw(1, []byte(batchWords)))
		if err != nil {
			return nil, err
		}
	}
	defer p.writers.Put(w)
	return w.EncodeAll(plain, nil), nil
}

// decompress reads what compress made. It takes no more memory than the largest batch.
func (p *batches) decompress(b []byte) ([]byte, error) {
	r, ok := p.readers.Get().(*zstd.Decoder)
	if !ok {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxBatch), zstd.WithDecoderDictRaw(1, []byte(batchWords)))
		if err != nil {
			return nil, err
		}
	}
	defer p.readers.Put(r)
	return r.DecodeAll(b, nil)
}

// inflate reads what older programs wrote.
func (p *batches) inflate(b []byte) ([]byte, error) {
	in := bytes.NewReader(b)
	r, ok := p.inflaters.Get().(io.ReadCloser)
	if !ok {
		r = flate.NewReader(in)
	} else if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer p.inflaters.Put(r)
	return io.ReadAll(io.LimitReader(r, MaxBatch+1))
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// open reads one. It trusts nothing, and never takes more than MaxBatch.
func (p *batches) open(b []byte) ([][]byte, error) {
	if len(b) < batchHead {
		return nil, errors.New("cannot read a batch that ends in its head")
	}
	plain := b[batchHead:]
	var err error
	switch b[0] {
	case batchPlain:
	case batchDeflated:
		plain, err = p.inflate(plain)
	case batchZstd:
		plain, err = p.decompress(plain)
	default:
		err = fmt.Errorf("it is of format %d, and this program knows up to %d", b[0], batchZstd)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a batch: %w", err)
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
