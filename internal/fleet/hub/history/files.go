package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// line is a sample in a file. Values that are unknown are omitted, and so are series that this version does not have.
type line struct {
	At     int64              `json:"at"` // seconds since 1970
	Values map[string]float64 `json:"values"`
	Runs   *runTimes          `json:"runs,omitempty"`
	// Position is the end of the log in which the runs were counted; 0 means that none was counted yet.
	Position uint64 `json:"position,omitempty"`
}

const (
	dayFormat = "2006-01-02"
	suffix    = ".jsonl"
)

func fileOf(at time.Time) string { return at.UTC().Format(dayFormat) + suffix }

// disk is the directory with the samples.
type disk struct {
	files host.FS
	dir   string
	warn  func(string)
}

// store writes the samples of the day, and removes files that are too old.
func (d disk) store(samples []sample, now time.Time) error {
	if err := d.files.Mkdir(d.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var text bytes.Buffer
	name := fileOf(now)
	for _, s := range samples {
		if fileOf(time.Unix(s.at, 0)) == name {
			b, err := json.Marshal(lineOf(s))
			if err != nil {
				return err
			}
			text.Write(append(b, '\n'))
		}
	}
	return errors.Join(smallfile.Write(d.files, path.Join(d.dir, name), text.Bytes()), d.sweep(now))
}

func lineOf(s sample) line {
	l := line{At: s.at, Values: map[string]float64{}, Runs: s.runs, Position: s.position}
	for i, each := range all() {
		if each.runs == nil && !math.IsNaN(s.values[i]) {
			l.Values[each.name] = s.values[i]
		}
	}
	return l
}

// sweep removes the files of days that are too old. Other files stay.
func (d disk) sweep(now time.Time) error {
	names, err := d.files.ReadDir(d.dir)
	first := fileOf(now.Add(-keep))
	for _, name := range names {
		if isDay(name) && name < first {
			err = errors.Join(err, d.files.Remove(path.Join(d.dir, name)))
		}
	}
	return err
}

func isDay(name string) bool {
	_, err := time.Parse(dayFormat+suffix, name)
	return err == nil
}

// load returns the stored samples until a time, sorted. Files and lines that cannot be read are skipped.
func (d disk) load(until time.Time) (out []sample) {
	names, err := d.files.ReadDir(d.dir)
	if err != nil {
		return nil // there are none yet
	}
	for _, name := range names {
		if !isDay(name) {
			continue
		}
		text, err := smallfile.Read(d.files, path.Join(d.dir, name))
		if err != nil {
			d.warn("cannot read numbers for plots: " + err.Error())
			continue
		}
		for each := range strings.Lines(string(text)) {
			if s, ok := parse(each); ok && s.at <= until.Unix() {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b sample) int { return int(a.at - b.at) })
	return slices.CompactFunc(out, func(a, b sample) bool { return a.at == b.at })
}

// parse reads a line. ok is false for a damaged one.
func parse(text string) (s sample, ok bool) {
	var l line
	if json.Unmarshal([]byte(text), &l) != nil || l.At <= 0 || l.Values == nil {
		return sample{}, false
	}
	s = sample{at: l.At, values: make([]float64, len(all())), position: l.Position}
	if l.Runs != nil && l.Runs.valid() {
		s.runs = l.Runs
	}
	for i, each := range all() {
		v, known := l.Values[each.name]
		if s.values[i] = v; !known {
			s.values[i] = math.NaN()
		}
	}
	return s, true
}
