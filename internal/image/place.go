package image

// Version is the content of a file at one moment, with its modification time.
type Version struct {
	Digest string `json:"digest,omitempty"`
	MTime  int64  `json:"mtime,omitempty"` // as in File
}

// Source is the text of a value in its file.
type Source struct {
	// Text is the text of the value. For an absent value, it is the text of the mapping around it, if
	// that mapping is empty.
	Text  string `json:"text,omitempty"`
	Depth int    `json:"depth,omitempty"` // number of parts of its key that exist
	Cut   *Cut   `json:"cut,omitempty"`   // for a value that will be removed
}

// Cut describes the text that is removed with a value, and its position. With it, the value can be
// restored at its position even if other parts of the file have changed.
type Cut struct {
	Text   string  `json:"text"`             // the removed text
	With   string  `json:"with,omitempty"`   // the text that replaces it
	Depth  int     `json:"depth,omitempty"`  // number of key parts of the mapping around it
	Behind *string `json:"behind,omitempty"` // key of the value before it; nil at the beginning
	Nth    int     `json:"nth,omitempty"`    // number of earlier values with that key
	Skip   int     `json:"skip,omitempty"`   // bytes between the end of that value and the removed text
}

// Place is one occurrence of a region that a file contains several times.
type Place struct {
	Text string `json:"text,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
}
