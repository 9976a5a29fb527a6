package push

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Lines is a durable file of lines. Package history implements it.
type Lines interface {
	Clear() error
	Append(text []byte) error
}

// Log is the log of a rollout: one JSON document in each line.
type Log struct {
	lines Lines
	// Records are the records of the last rollout.
	Records []Record
}

// NewLog reads the lines of a log.
func NewLog(file Lines, lines [][]byte) (*Log, error) {
	l := &Log{lines: file}
	for i, line := range lines {
		r, err := parseRecord(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		l.Records = append(l.Records, r)
	}
	return l, nil
}

// Begin discards the records and begins a rollout.
func (l *Log) Begin(o Order) error {
	if err := l.lines.Clear(); err != nil {
		return err
	}
	b := o.begin()
	l.Records = []Record{{Begin: &b}}
	return l.Append(l.Records)
}

// Append adds records durably.
func (l *Log) Append(all []Record) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, r := range all {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return l.lines.Append(text.Bytes())
}
