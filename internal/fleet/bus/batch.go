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

// MaxBatch is the maximum size of the records of one append, in bytes, with four bytes added for
// each record.
const MaxBatch = 1 << 20

const (
	batchPlain    = 1     // the first byte: format and compression
	batchDeflated = 2     // written by older versions
	batchZstd     = 3     // with batchWords as its dictionary
	batchHead     = 1 + 4 // the format, and the checksum of the uncompressed records
)

// batchWords is the compression dictionary: texts that most records contain. Most batches have only
// a few records, and would otherwise repeat these texts. It is part of the format and must never
// change.
const batchWords = `{"format":"fettle.event/1","at":17,"kind":"granted","target":"","by":"token ","text":"renew: certificate enrol: certificate  for web until 2026-11-T:Z"}` +
	`,"drift":0,"run":1,"changed":17,"facts":{"memory":"8 GiB","os":"debian 13"}},"since":1}` +
	`{"format":"fettle.report/1","target":"","seq":1,"boot":"b","at":17,"event":{"kind":"started","text":"generation "},"kind":"drifted","kind":"ready","run":1,"module":"modules/"` +
	`"text":"generation ","changes":1},"status":{"epoch":17,"generation":1,"version":"","modules":[{"module":"modules/","commit":"","bundle":"sha256:","state":"pending","since":17` +
	`","state":"ready","since":17}],"drift":0,"frozen":"","run":1,"changed":0,"error":""}}`

// batches encodes and decodes batches of records. The zero value is ready to use, also from several
// goroutines.
type batches struct {
	writers, readers,
	inflaters sync.Pool
} // an encoder needs a megabyte, and each commit needs an encoder

// pack encodes records as one message: a byte for the format, the CRC-32C of the uncompressed
// records, and for each record its length as a uvarint and its bytes. The records are compressed
// unless that makes them larger.
func (p *batches) pack(records [][]byte) ([]byte, error) {
	var plain []byte
	for _, r := range records {
		plain = binary.AppendUvarint(plain, uint64(len(r)))
		plain = append(plain, r...)
	}
	if len(plain) > MaxBatch {
		return nil, fmt.Errorf("cannot append %d bytes at once: the maximum is %d", len(plain), MaxBatch)
	}
	head := binary.BigEndian.AppendUint32([]byte{batchPlain}, checksum(plain))
	small, err := p.compress(plain)
	if err == nil && len(small) < len(plain) {
		head[0], plain = batchZstd, small
	}
	return append(head, plain...), err
}

// compress compresses encoded records.
func (p *batches) compress(plain []byte) ([]byte, error) {
	w, ok := p.writers.Get().(*zstd.Encoder)
	if !ok {
		var err error
		w, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(MaxBatch/4),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithEncoderDictRaw(1, []byte(batchWords)))
		if err != nil {
			return nil, err
		}
	}
	defer p.writers.Put(w)
	return w.EncodeAll(plain, nil), nil
}

// decompress reverses compress. Its memory is limited to the size of the largest batch.
func (p *batches) decompress(b []byte) ([]byte, error) {
	r, ok := p.readers.Get().(*zstd.Decoder)
	if !ok {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(MaxBatch), zstd.WithDecoderDictRaw(1, []byte(batchWords)))
		if err != nil {
			return nil, err
		}
	}
	defer p.readers.Put(r)
	return r.DecodeAll(b, nil)
}

// inflate decompresses batches that older versions wrote.
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

// open decodes one batch. The bytes can come from an attacker: open checks all lengths, and its
// result is never larger than MaxBatch.
func (p *batches) open(b []byte) ([][]byte, error) {
	if len(b) < batchHead {
		return nil, errors.New("cannot read a batch: it is shorter than its header")
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
		err = fmt.Errorf("its format is %d, and this version of fettle supports up to %d", b[0], batchZstd)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a batch: %w", err)
	}
	if len(plain) > MaxBatch || checksum(plain) != binary.BigEndian.Uint32(b[1:batchHead]) {
		return nil, errors.New("cannot read a batch: its checksum is wrong")
	}
	return records(plain)
}

func records(plain []byte) ([][]byte, error) {
	var out [][]byte
	for len(plain) > 0 {
		size, n := binary.Uvarint(plain)
		if n <= 0 || size > uint64(len(plain)-n) {
			return nil, errors.New("cannot read a batch: a record is longer than the batch")
		}
		end := n + int(size)
		out = append(out, plain[n:end:end])
		plain = plain[end:]
	}
	return out, nil
}
