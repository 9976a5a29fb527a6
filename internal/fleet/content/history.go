package content

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// HistoryPath is the URL path of histories: HistoryPath + commit, with the accepted commits as
// values of the query parameter HistoryAccepted.
const (
	HistoryPath     = "/v1/history/"
	HistoryAccepted = "accepted"
	// HistoryHeader is set in each answer below HistoryPath. Hubs of earlier versions do not set
	// it.
	HistoryHeader = "Fettle-History"
)

// Limits of a history.
const (
	MaxHistoryCommits = 10_000
	MaxHistory        = 32 << 20 // bytes of all commits
)

// historyMagic begins a history. The raw commit objects follow in any order, each after its size as
// four bytes, most significant first. A size of 0 is the end.
const historyMagic = "fettle.history/1\n"

// HistoryWriter writes a history.
//
//	w := content.NewHistoryWriter(out)
//	err := w.Add(raw)
//	err = w.End()
type HistoryWriter struct {
	w     *bufio.Writer
	count int
	size  int64
}

// NewHistoryWriter returns a writer of one history.
func NewHistoryWriter(w io.Writer) *HistoryWriter {
	h := &HistoryWriter{w: bufio.NewWriter(w)}
	_, _ = h.w.WriteString(historyMagic) // Flush returns the error
	return h
}

// Add adds a raw commit object. It returns an error if the commit exceeds a limit of ReadHistory.
func (h *HistoryWriter) Add(raw []byte) error {
	h.count++
	h.size += int64(len(raw))
	if err := checkHistory(h.count, int64(len(raw)), h.size); err != nil {
		return fmt.Errorf("cannot deliver the history: %w", err)
	}
	_, err := h.w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(raw))))
	if err == nil {
		_, err = h.w.Write(raw)
	}
	return err
}

// End writes the end of the history, and flushes it. The caller closes the underlying writer.
func (h *HistoryWriter) End() error {
	_, _ = h.w.Write(make([]byte, 4)) // Flush returns the error
	return h.w.Flush()
}

func checkHistory(count int, size, total int64) error {
	switch {
	case count > MaxHistoryCommits:
		return fmt.Errorf("it has more than %d commits", MaxHistoryCommits)
	case size > maxCommit:
		return fmt.Errorf("it has a commit of more than %d bytes", maxCommit)
	case total > MaxHistory:
		return fmt.Errorf("it has more than %d MiB", MaxHistory>>20)
	}
	return nil
}

// History is a set of commits with their objects. Their order follows from the parents in the
// objects.
type History struct {
	naming  naming
	commits map[string]commit
}

// ErrTruncated means that a history ends too early.
var ErrTruncated = errors.New("the history ends too early")

// ReadHistory reads a whole history. It computes the hashes of the commits from their objects;
// commit only determines the object format. The memory is limited by MaxHistory.
func ReadHistory(r io.Reader, commit string) (History, error) {
	h, err := readHistory(r, commit)
	if err != nil {
		return History{}, fmt.Errorf("cannot read the history of %.12s: %w", commit, err)
	}
	return h, nil
}

func readHistory(r io.Reader, id string) (h History, err error) {
	if h.naming, err = namingOf(id); err != nil {
		return h, err
	}
	in := bufio.NewReader(r)
	magic := make([]byte, len(historyMagic))
	if _, err := io.ReadFull(in, magic); err != nil {
		return h, cut(err)
	}
	if string(magic) != historyMagic {
		return h, fmt.Errorf("it is not of the format %s", strings.TrimSpace(historyMagic))
	}
	h.commits = map[string]commit{}
	total := int64(0)
	for {
		raw, err := nextCommit(in, len(h.commits), total)
		if err != nil || raw == nil {
			return h, err
		}
		total += int64(len(raw))
		if err := h.add(raw); err != nil {
			return h, err
		}
	}
}

// nextCommit returns the next object, or nil at the end.
func nextCommit(in *bufio.Reader, count int, total int64) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, cut(err)
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size == 0 {
		if _, err := in.ReadByte(); err != io.EOF {
			return nil, errors.New("there is more data after its end")
		}
		return nil, nil
	}
	if err := checkHistory(count+1, size, total+size); err != nil {
		return nil, err
	}
	raw := make([]byte, size)
	_, err := io.ReadFull(in, raw)
	return raw, cut(err)
}

// cut replaces an end-of-file error by ErrTruncated.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}

func (h History) add(raw []byte) error {
	id := h.naming.object("commit", raw)
	if _, twice := h.commits[id]; twice {
		return fmt.Errorf("it has the commit %.12s twice", id)
	}
	c, err := h.naming.parseCommit(raw)
	if err != nil {
		return fmt.Errorf("the commit %.12s: %w", id, err)
	}
	h.commits[id] = c
	return nil
}
