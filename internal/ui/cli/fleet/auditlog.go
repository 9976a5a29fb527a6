package fleet

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"fettle.dev/fettle/internal/fleet/access"
)

// logRead is a log as far as it was read and found whole.
type logRead struct {
	access.Checker
	last []access.Head // of the one chain that it has, if any
	kept []access.Head // heads that the log must contain
	n    int
	size int64 // of whole lines, in bytes
}

func (k *logRead) String() string {
	if k.n == 0 {
		return "0 records"
	}
	return fmt.Sprintf("%d records of %s", k.n, k.last[0].Chain)
}

// next takes one more record, without its line break.
func (k *logRead) next(line []byte) error {
	if err := k.Next(line); err != nil {
		return err
	}
	r, err := access.ParseRecord(line)
	if err != nil {
		return err
	}
	h := k.Head(r.Chain)
	k.last, k.n, k.size = []access.Head{h}, k.n+1, k.size+int64(len(line))+1
	for _, old := range k.kept {
		if old.Chain == h.Chain && old.Seq == h.Seq && old.Hash != h.Hash {
			return fmt.Errorf("cannot trust the audit log: record %d of %s differs from the copy", h.Seq, h.Chain)
		}
	}
	return nil
}

func readLogFile(file string, kept ...access.Head) (*logRead, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the audit log: %w", err)
	}
	defer f.Close()
	return readLog(f, kept...)
}

// readLog reads whole lines; the last one may have been cut off by a crash.
func readLog(r io.Reader, kept ...access.Head) (*logRead, error) {
	k := &logRead{kept: kept}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return k, fmt.Errorf("cannot read the audit log: %w", err)
		}
		if err := k.next(line[:len(line)-1]); err != nil {
			return k, err
		}
	}
	for _, old := range kept {
		if h := k.Head(old.Chain); h.Seq < old.Seq {
			return k, fmt.Errorf("cannot trust the audit log: it ends at record %d of %s, but the copy continues to record %d",
				h.Seq, old.Chain, old.Seq)
		}
	}
	return k, nil
}
