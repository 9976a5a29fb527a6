package image

import (
	"fettle.dev/fettle/internal/addr"
)

// Region is the part of a file that an EDIT step owns.
type Region struct {
	Present bool   `json:"present"`
	Text    string `json:"text,omitempty"` // its lines with line ends, without the markers
	// Line is its original line number, from 1, so that the undo restores its position.
	Line int `json:"line,omitempty"`
	// NoEOL reports that the file had no newline at its end.
	NoEOL bool `json:"no_eol,omitempty"`
	// FileAbsent reports that the file did not exist.
	FileAbsent bool `json:"file_absent,omitempty"`
	// FileEmpty reports that the file is empty: it contains neither the region nor other content.
	FileEmpty bool `json:"bare,omitempty"`
	// Others are the further occurrences of the region, in order, for a step that removes all of them.
	Others []Place `json:"others,omitempty"`
	// CutEnd reports that the end marker of a block was the end of the file, without a newline.
	CutEnd bool `json:"cut_end,omitempty"`
	// Source is the text of a value of a JSON, YAML, TOML, INI or XML file in the file. Text is then
	// the value in its canonical form for comparison.
	Source *Source `json:"source,omitempty"`
	// Encrypted are Text, Others and Source of a region with a secret, encrypted. Text is then the
	// reference to the encrypted value for comparison, and Others and Source are empty.
	Encrypted []byte `json:"words,omitempty"`
	// EarlierVersions are versions of the whole file before it was edited. If the file has the same content again,
	// its time is restored.
	EarlierVersions []Version `json:"was,omitempty"`
	// Nlink is the number of hard links of the file if it is greater than one.
	Nlink uint64 `json:"nlink,omitempty"`
}

// Leaves reports whether the file is removed when the region becomes to: the file did not exist before
// fettle, and is now empty without the region.
func (r Region) Leaves(to Region) bool { return r.FileEmpty && !to.Present && to.FileAbsent }

// TimeOf returns the MTime that a file with the region had when it had the content of f. If no such
// version is known, it returns the MTime of f.
func (r Region) TimeOf(f File) int64 {
	for _, v := range r.EarlierVersions {
		if v.Digest == f.Digest && v.Digest != "" {
			return v.MTime
		}
	}
	return f.MTime
}

// Region returns the part of a file that an EDIT step owns, or nil if the image has another type.
func (i Image) Region() *Region { return as[Region](i.Variant) }

func (*Region) stored() string { return "region" }

// kind is "" because the records of an EDIT step contain images of the whole file.
func (*Region) kind() addr.Kind { return "" }

func (*Region) fresh() Variant { return new(Region) }

// Same implements Variant. It ignores everything that only supports the undo.
func (r Region) Same(other Variant) bool {
	o := as[Region](other)
	return o != nil && r.Present == o.Present && r.Text == o.Text
}

// Absent implements Variant.
func (r Region) Absent() bool { return !r.Present }

// SealKey implements Variant.
func (r Region) SealKey() string { return keyIn(r.Text) }

// Summary implements Variant.
func (r Region) Summary() string { return presence(r.Present) }

// Differences implements Variant.
func (r Region) Differences(before Variant, _ Names) []Difference {
	old := valueOf[Region](before)
	var d differ
	d.add("present", yes(old.Present), yes(r.Present))
	d.add("text", shown(old.Text), shown(r.Text))
	return d.out
}
